// The stream of events from the server, opened again whenever it ends: in the shared worker, or in a tab that has none.
import { EventReader } from "./sse.js";

const RETRY_MS = 400;

/**
 * @typedef {{ kind: string, value?: any }} News  kinds beside the server's own: "beat" (it lives), "lost", "refused" with the reason
 */

/**
 * Reads until the end of time.
 * @param {string} token
 * @param {string} name of this browser's stream
 * @param {(news: News) => void} tell
 */
export async function readStream(token, name, tell) {
  for (;;) {
    try {
      const answer = await fetch("/api/stream", {
        headers: { Authorization: `Bearer ${token}`, "X-Page": name },
        cache: "no-store",
      });
      if (answer.ok && answer.body) {
        await pump(answer.body, tell);
      } else {
        const { error } = await answer.json().catch(() => ({ error: `the server answers ${answer.status}` }));
        tell({ kind: "refused", value: error });
      }
    } catch {
      // not there: it is looked for again
    }
    tell({ kind: "lost" });
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {(news: News) => void} tell
 */
async function pump(body, tell) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const events = new EventReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const told = events.feed(decoder.decode(value, { stream: true }));
    for (const { event, data } of told) {
      tell(event ? { kind: event, value: JSON.parse(data) } : { kind: "beat" });
    }
  }
}
