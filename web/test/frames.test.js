import assert from "node:assert/strict";
import { test } from "node:test";
import { IDENTITY, jointFrame, linkFrames, rotationAbout, times } from "../src/frames.js";

/** @param {readonly number[]} a @param {readonly number[]} b */
const near = (a, b) => a.forEach((x, k) => assert.ok(Math.abs(x - b[k]) < 1e-12, `${a} is not ${b}`));
const moved = (x, y, z) => [1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, z, 0, 0, 0, 1];
const joint = (name, type, parent, child, pose, axis) => ({ name, type, parent, child, pose, axis });

test("a quarter turn about z takes x to y", () => {
  const turned = rotationAbout([0, 0, 1], Math.PI / 2);
  near([turned[0], turned[4], turned[8]], [0, 1, 0]);
});

test("a turn about any axis and back is none", () => {
  const axis = [2 / 3, -1 / 3, 2 / 3];
  near(times(rotationAbout(axis, 0.7), rotationAbout(axis, -0.7)), IDENTITY);
});

test("a joint that slides moves its child along its axis, a fixed one not at all", () => {
  near(jointFrame(joint("d", "prismatic", "a", "b", moved(1, 0, 0), [0, 0, 1]), 0.3), moved(1, 0, 0.3));
  near(jointFrame(joint("f", "fixed", "a", "b", moved(1, 2, 3), [1, 0, 0]), 0.3), moved(1, 2, 3));
});

test("the picker's tip: shoulder up by 90 degrees, elbow back by 90, from the lengths of its URDF", () => {
  const up = [0, -1, 0];
  const joints = [
    joint("base", "revolute", "base_link", "turret", moved(0, 0, 0.045), [0, 0, 1]),
    joint("shoulder", "revolute", "turret", "upper_arm", moved(0, 0, 0.045), up),
    joint("elbow", "revolute", "upper_arm", "forearm", moved(0.2, 0, 0), up),
    joint("tool", "fixed", "forearm", "tool0", moved(0.225, 0, 0), up),
  ];
  const frames = linkFrames("base_link", joints, { base: Math.PI / 2, shoulder: Math.PI / 2, elbow: -Math.PI / 2 });
  const tip = frames.get("tool0") ?? [];
  near([tip[3], tip[7], tip[11]], [0, 0.225, 0.29]);
});
