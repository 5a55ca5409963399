// Tours: what can be made again, and how far it is.
import { byId, make, write } from "./page.js";

/** @typedef {{ name: string, steps: number }} Tour */

export class Tours {
  #list = byId("tours", HTMLUListElement);
  #times = byId("times", HTMLInputElement);

  /**
   * @param {import("./connection.js").Connection} connection
   * @param {(what: object) => Promise<boolean>} send a motion
   * @param {(what: object) => void} ask for anything else
   */
  constructor(connection, send, ask) {
    this.connection = connection;
    this.send = send;
    byId("tours-again", HTMLButtonElement).addEventListener("click", () => this.look());
    byId("tour-end", HTMLButtonElement).addEventListener("click", () => ask({ do: "cancel" }));
    connection.on("hello", () => this.tell({ name: "", share: 0, what: "" }));
    connection.on("tour", (told) => this.tell(told));
    this.look();
  }

  /** Look at the folder. */
  async look() {
    /** @type {{ folder: string, tours: Tour[] }} */
    const { folder, tours } = await this.connection.get("/api/tours").then((answer) => answer.json(), () => ({ folder: "", tours: [] }));
    this.#list.replaceChildren(...tours.map((tour) => this.#row(tour)));
    const what = tours.length ? "Checked as a whole before anything moves" : "No taught motion (picker teach NAME)";
    write(byId("tours-note", HTMLElement), folder && `${what}; in ${folder}`);
  }

  /** How far one is; without a name none is under way. @param {{ name: string, share: number, what: string }} told */
  tell({ name, share, what }) {
    byId("tour", HTMLElement).hidden = !name;
    write(byId("tour-name", HTMLElement), name);
    write(byId("tour-what", HTMLElement), what);
    byId("tour-bar", HTMLProgressElement).value = share;
    for (const button of this.#list.querySelectorAll("button")) button.disabled = Boolean(name);
  }

  /** @param {Tour} tour */
  #row({ name, steps }) {
    const run = make("button", { type: "button", "aria-label": `Run ${name}` }, "Run");
    run.addEventListener("click", () => this.send({ do: "tour", name, loop: Math.round(Number(this.#times.value)) || 1 }));
    return make("li", { class: "tour" }, make("span", {}, make("b", {}, name), " ", make("small", {}, `${steps} steps`)), run);
  }
}
