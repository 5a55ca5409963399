// The figures of the arm on the stage: where it is, where it should be, where it really is, and where it would go.
import { DoubleSide, EqualStencilFunc, Group, IncrementStencilOp, Mesh, MeshBasicMaterial, SphereGeometry } from "three";
import { ArmFigure } from "./arm.js";
import { colour } from "./page.js";
import { Region, Surroundings, Trail } from "./scenery.js";
import { apart } from "./units.js";

const MOVED = 2e-5;
/** The arm's shadow: the arm, pressed flat on the floor along the light; where its parts lie upon each other it is no darker. */
const SHADOW = { side: DoubleSide, polygonOffset: false, stencilWrite: true, stencilFunc: EqualStencilFunc, stencilZPass: IncrementStencilOp };
/** How far the light moves a shadow aside, as a share of the height. */
const ASIDE = [-0.25, 0.35];
/** The reference is drawn where its tip is so far from the arm's, and until it is nearer than the second [mm]. */
const [APART_MM, CLOSE_MM] = [3, 2];

/** @typedef {{ t: number, q: Record<string, number[]>, tip: Record<string, number[]>, age: Record<string, number>,
 *   torque?: number[], torque_of?: string }} Pose */

export class Figures {
  /** @type {Record<string, number[]>} */
  #shown = {};
  #still = 0;
  /** @type {number[]} */
  tip = [0, 0, 0];

  /**
   * @param {import("./stage.js").Stage} stage
   * @param {import("./arm.js").Picture} picture
   * @param {import("./arm.js").MeshLoader} load
   */
  constructor(stage, picture, load) {
    const changed = () => stage.draw();
    this.stage = stage;
    this.picture = picture;
    this.state = new ArmFigure(picture, "solid", load, changed);
    this.shadow = new ArmFigure(picture, "ghost", load, changed);
    this.shadow.tint("#000", 0.2);
    Object.assign(this.shadow.ghost, SHADOW);
    this.shadow.matrixAutoUpdate = false;
    this.shadow.matrix.set(1, 0, ASIDE[0], 0, 0, 1, ASIDE[1], 0, 0, 0, 0, 5e-4, 0, 0, 0, 1);
    this.reference = new ArmFigure(picture, "ghost", load, changed);
    this.truth = new ArmFigure(picture, "outline", load, changed);
    this.preview = new ArmFigure(picture, "ghost", load, changed);
    this.trail = new Trail();
    this.way = new Trail();
    this.region = new Region();
    this.turning = new Group();
    this.turning.add(this.region);
    this.surroundings = new Surroundings();
    /** Where the tip cannot get. */
    this.beyond = new Mesh(new SphereGeometry(0.008, 24, 16), new MeshBasicMaterial({ depthTest: false }));
    this.beyond.renderOrder = 4;
    this.beyond.visible = false;
    this.truth.visible = this.reference.visible = this.preview.visible = this.region.visible = false;
    stage.scene.add(
      this.shadow, this.state, this.reference, this.truth, this.preview, this.trail, this.way, this.turning, this.surroundings, this.beyond,
    );
    /** What a person wants to see. @type {Record<string, boolean>} */
    this.wanted = { reference: true, truth: true, trail: true, region: false };
    this.theme();
  }

  theme() {
    this.reference.tint(colour("--reference"), 0.3);
    this.truth.tint(colour("--truth"));
    this.trail.line.color.set(colour("--trail"));
    this.way.line.color.set(colour("--preview"));
    this.region.material.color.set(colour("--bad"));
    this.beyond.material.color.set(colour("--bad"));
    this.stage.draw();
  }

  /** @param {Pose} pose */
  take({ q, tip }) {
    this.tip = tip.state ?? this.tip;
    let moved = false;
    for (const name of /** @type {const} */ (["state", "reference", "truth"])) {
      const figure = this[name];
      const there = Boolean(q[name]) && (name === "state" || this.wanted[name]) && (name !== "reference" || this.#off(tip));
      moved ||= figure.visible !== there;
      figure.visible = there;
      if (name === "state") this.shadow.visible = there;
      const before = this.#shown[name];
      if (q[name] && !(before && before.every((x, k) => Math.abs(x - q[name][k]) < MOVED))) {
        this.#shown[name] = q[name];
        figure.pose(q[name]);
        if (name === "state") this.shadow.pose(q[name]);
        moved = true;
      }
    }
    if (q.state) this.turning.rotation.z = q.state[0];
    moved = this.#trail(tip.truth ?? tip.state, moved) || moved;
    if (moved) this.stage.draw();
  }

  /** Whether the reference is to be seen beside the arm. @param {Record<string, number[]>} tip */
  #off({ state, reference }) {
    return !state || apart(state, reference) > (this.reference.visible ? CLOSE_MM : APART_MM);
  }

  /** The way of the last motion: what stood for a while begins another. @param {number[] | undefined} tip @param {boolean} moved */
  #trail(tip, moved) {
    this.#still = moved ? 0 : this.#still + 1;
    if (!tip || !moved) return false;
    if (this.#rested) this.trail.clear_();
    this.#rested = false;
    this.trail.visible = this.wanted.trail;
    this.trail.add_(tip);
    return true;
  }

  #rested = true;

  /** A motion begins. */
  begin() {
    this.#rested = true;
  }

  /**
   * Where a motion would lead; null: none is looked at.
   * @param {{ possible: boolean, q: number[] | null, way?: number[][] } | null} check
   * @param {number[]} [at] where the tip is asked to go: marked, where it cannot
   */
  show(check, at) {
    const beyond = check && !check.q ? at : null;
    this.beyond.visible = Boolean(beyond);
    if (beyond) this.beyond.position.set(beyond[0], beyond[1], beyond[2]);
    this.preview.visible = Boolean(check?.q);
    this.preview.renderOrder = 3;
    if (check?.q) this.preview.pose(check.q);
    this.preview.tint(colour(check?.possible ? "--preview" : "--bad"), check?.possible ? 0.34 : 0.45);
    this.way.show(beyond ? [this.tip, beyond] : (check?.way ?? []));
    this.way.line.color.set(colour(check?.possible ? "--preview" : "--bad"));
    this.stage.draw();
  }

  /** @param {string} what @param {boolean} on */
  want(what, on) {
    this.wanted[what] = on;
    this.trail.visible = this.wanted.trail;
    this.region.visible = this.wanted.region;
    this.stage.draw();
  }
}
