// Server-sent events out of pieces of text, wherever these are cut.

/** @typedef {{ event: string, data: string }} Told */

export class EventReader {
  #rest = "";

  /**
   * The events that a piece of text completes; a comment counts as an event without a name.
   * @param {string} text
   * @returns {Told[]}
   */
  feed(text) {
    const parts = (this.#rest + text).split("\n\n");
    this.#rest = parts.pop() ?? "";
    return parts.map((part) => {
      const told = { event: "", data: "" };
      for (const line of part.split("\n")) {
        if (line.startsWith("event: ")) told.event = line.slice(7);
        else if (line.startsWith("data: ")) told.data += line.slice(6);
      }
      return told;
    });
  }
}
