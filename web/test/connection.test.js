import assert from "node:assert/strict";
import { test } from "node:test";
import { Seen } from "../src/connection.js";

test("of what was told the newest epoch counts, and an answer that comes late does not", () => {
  const seen = new Seen();
  assert.equal(seen.now(0), "", "nothing was told");
  seen.take("7 9.900", 0);
  seen.take("3 12.050", 2150);
  seen.take("7 10.900", 2150);
  seen.take(null, 2150);
  assert.equal(seen.now(2150), "3 12.050");
});

test("the server's time goes on with ours, by the news that took least, and a server that stood still is not guessed ahead", () => {
  const seen = new Seen();
  seen.take("7 100.000", 1000);
  seen.take("7 100.100", 1500); // taken 0.4 s late: the page was drawing
  assert.equal(seen.now(1600), "7 100.600");
  for (let k = 1; k <= 20; k++) seen.take(`7 ${101 + k / 10}`, 5000 + 100 * k);
  assert.equal(seen.now(8000), "7 104.000", "a computer that slept: only the last news count");
});
