// The chat view: messages with roles, and the template that makes a text of them.
const roles = ["system", "user", "assistant", "tool"];
const chatml = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
  + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

class Chat {
  constructor(changed) {
    this.changed = changed, this.list = element("messages"), this.template = element("template");
    this.template.value = chatml;
    element("more").addEventListener("click", () => this.add(this.next(), "").focus());
    element("whose").addEventListener("change", () => {
      this.template.hidden = element("whose").value !== "written";
      changed();
    });
    element("prompt").addEventListener("change", changed);
    this.template.addEventListener("input", changed);
    this.set([{ role: "system", content: "You are brief." }, { role: "user", content: "What is a token?" }]);
  }

  next() {
    const all = this.messages();
    return all.length && all[all.length - 1].role === "user" ? "assistant" : "user";
  }

  set(messages) {
    this.list.replaceChildren();
    for (const { role, content } of messages) this.add(role, content);
  }

  // Add a message, and return where its text is written.
  add(role, content) {
    const item = document.createElement("li"), select = document.createElement("select");
    for (const each of roles) select.add(new Option(each, each, false, each === role));
    select.setAttribute("aria-label", "Role");
    const text = document.createElement("textarea");
    text.value = content, text.rows = 3, text.setAttribute("aria-label", "Message"), text.spellcheck = false;
    const remove = () => { item.remove(), this.changed(), element("more").focus(); };
    for (const input of [select, text]) input.addEventListener("input", this.changed);
    item.append(select, text, buttonOf("\u00d7", remove, "Remove this message"));
    this.list.append(item);
    return text;
  }

  messages() {
    return Array.from(this.list.children, item => ({
      role: item.querySelector("select").value, content: item.querySelector("textarea").value.toWellFormed(),
    }));
  }

  // What the server is asked for.
  body() {
    const template = element("whose").value ? this.template.value.toWellFormed() : undefined;
    return JSON.stringify({ messages: this.messages(), template, prompt: element("prompt").checked });
  }
}
