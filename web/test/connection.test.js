import assert from "node:assert/strict";
import { test } from "node:test";
import { newer } from "../src/connection.js";

test("of what was seen the newest counts, whatever its epoch, and anything is newer than nothing", () => {
  assert.ok(newer("7 0.000", ""));
  assert.ok(newer("3 12.050", "7 9.900"));
  assert.ok(!newer("7 9.900", "3 12.050"), "an answer that comes late");
  assert.ok(!newer("7 9.900", "7 9.900"));
});
