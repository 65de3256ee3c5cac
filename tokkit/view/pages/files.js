// Files that are opened or dropped: of one that is larger than the server takes, the first megabyte is offered.
const megabyte = 1 << 20;

class Files {
  constructor(most, took, tell) {
    this.most = most, this.took = took, this.tell = tell, this.waiting = null;
    const large = element("large"), input = element("file");
    element("open").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      if (input.files[0]) this.open(input.files[0]);
      // The same file, chosen again, is a change too.
      input.value = "";
    });
    addEventListener("dragover", event => {
      event.preventDefault();
      document.body.classList.add("dropping");
    });
    addEventListener("dragleave", event => {
      if (!event.relatedTarget) document.body.classList.remove("dropping");
    });
    addEventListener("drop", event => {
      event.preventDefault();
      document.body.classList.remove("dropping");
      const file = event.dataTransfer.files[0];
      if (file) this.open(file);
    });
    element("first").addEventListener("click", () => { large.close(), this.read(this.waiting, megabyte); });
    element("cancel").addEventListener("click", () => large.close());
  }

  open(file) {
    if (file.size <= this.most) return this.read(file, file.size);
    this.waiting = file;
    element("how-large").textContent = shown(file.name) + " has " + counted(file.size, "byte") + "; the page takes "
      + this.most.toLocaleString("en") + ".";
    element("large").showModal();
  }

  async read(file, n) {
    try {
      const raw = new Uint8Array(await file.slice(0, n).arrayBuffer());
      // A character that is cut at the end is left out.
      let end = raw.length;
      if (n < file.size) while (end && end > raw.length - 4 && (raw[end] & 0xc0) === 0x80) end--;
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(raw.subarray(0, end));
      const name = shown(file.name);
      this.took(text);
      this.tell((n < file.size ? "The first MB of " + name : name) + (text.includes("\ufffd")
        ? "; bytes that are not UTF-8 are \ufffd" : ""));
    } catch (error) {
      this.tell(shown(file.name) + ": " + error.message);
    }
  }
}
