// What happened, the newest first: words of the controller, the validator and the hardware, as they come.
import { byId, make } from "./page.js";

const MOST = 60;

export class Words {
  #list = byId("words", HTMLOListElement);

  /** @param {{ text: string, level: string, time: number }} said */
  say({ text, level, time }) {
    const at = new Date(1e3 * time);
    const line = make("li", { class: level }, make("time", { datetime: at.toISOString() }, at.toLocaleTimeString()), text);
    this.#list.prepend(line);
    while (this.#list.children.length > MOST) this.#list.lastElementChild?.remove();
  }

  /** Something that this page has to say. @param {string} text @param {string} level */
  tell(text, level = "error") {
    this.say({ text, level, time: Date.now() / 1e3 });
  }
}
