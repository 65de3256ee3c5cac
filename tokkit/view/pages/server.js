// What the playground asks of its server: only the newest text counts, and a server that is gone is asked again.
const key = new URLSearchParams(location.search).get("token") || "";
const pageName = Math.random().toString(36).slice(2);
const between = 1000;

class Refused extends Error {
  constructor(status, message, code) { super(message), this.status = status, this.code = code; }
}

class Server {
  constructor(banner, again) {
    this.banner = banner, this.again = again, this.number = 0, this.flying = null, this.isGone = false;
  }

  async ask(path, query, body, signal) {
    const headers = { authorization: "Bearer " + key };
    let answer;
    try {
      answer = await fetch(path + "?" + query, { method: "POST", body, headers, signal, cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      this.gone();
      throw error;
    }
    const made = await answer.json();
    if (answer.ok) return this.here(), made;
    const { message, code } = made.error || {};
    if (answer.status === 403) this.tell("This page is not the server's: open the address that tokkit play says.");
    throw new Refused(answer.status, message || "The server answers " + answer.status + ".", code);
  }

  // Ask for the tokens of a text; what was asked before is cancelled. Null for what is stale.
  async tokens(path, query, body) {
    if (this.flying) this.flying.abort();
    const mine = this.flying = new AbortController(), number = ++this.number;
    query.set("client", pageName), query.set("number", number);
    try {
      const made = await this.ask(path, query, body, mine.signal);
      return number === this.number ? made : null;
    } catch (error) {
      if (error.name === "AbortError" || error.code === "stale") return null;
      throw error;
    } finally {
      if (this.flying === mine) this.flying = null;
    }
  }

  tell(text) { this.banner.textContent = text, this.banner.hidden = !text; }

  here() {
    if (!this.isGone) return;
    this.isGone = false;
    this.tell("");
  }

  // Say that the server does not answer, and ask once a second until it does.
  gone() {
    if (this.isGone) return;
    this.isGone = true;
    this.tell("The server does not answer: it was stopped. What you type stays here; trying again\u2026");
    const timer = setInterval(async () => {
      try {
        if (!(await fetch("/health", { cache: "no-store" })).ok) return;
      } catch { return; }
      clearInterval(timer);
      this.here(), this.again();
    }, between);
  }
}
