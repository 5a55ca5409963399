// Tours and recordings: what can be made again, how far it is, and whether something is being recorded.
import { byId, make, markMovers, write } from "./page.js";

/** @typedef {{ name: string, steps: number | null }} Tour */

export class Tours {
  #list = byId("tours", HTMLUListElement);
  #times = byId("times", HTMLInputElement);
  #record = byId("record", HTMLButtonElement);
  #records = false;

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
    this.#record.addEventListener("click", () => ask({ do: "record", on: !this.#records }));
    connection.on("hello", () => this.tell({ name: "", share: 0, what: "" }));
    connection.on("tour", (told) => this.tell(told));
    this.look();
  }

  /** Look at the folder. */
  async look() {
    /** @type {{ folder: string, tours: Tour[] }} */
    const { folder, tours } = await this.connection.get("/api/tours").then((answer) => answer.json(), () => ({ folder: "", tours: [] }));
    this.#list.replaceChildren(...tours.map((tour) => this.#row(tour)));
    markMovers();
    const what = tours.length ? "Checked as a whole before anything moves" : "No taught motion (picker teach NAME) and no recording";
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

  /** @param {any} status */
  take({ records = false }) {
    if (records === this.#records) return;
    this.#records = records;
    this.#record.setAttribute("aria-pressed", String(records));
    write(this.#record, records ? "End recording" : "Record");
    if (!records) this.look();
  }

  /** @param {Tour} tour */
  #row({ name, steps }) {
    const run = make("button", { type: "button", "aria-label": `Run ${name}` }, "Run");
    run.addEventListener("click", () => this.send({ do: "tour", name, loop: Math.round(Number(this.#times.value)) || 1 }));
    return make("li", { class: "tour" }, make("span", {}, make("b", {}, name), " ", make("small", {}, steps ? `${steps} steps` : "recording")), run);
  }
}
