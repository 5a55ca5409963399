// Tabs: one panel of the controls is shown at a time.
import { byId } from "./page.js";

/** Show the panel of a tab. @param {HTMLElement} tab */
export function choose(tab) {
  for (const one of all()) {
    one.setAttribute("aria-selected", String(one === tab));
    one.tabIndex = one === tab ? 0 : -1;
    byId(one.getAttribute("aria-controls") ?? "", HTMLElement).hidden = one !== tab;
  }
}

/** @returns {HTMLButtonElement[]} */
const all = () => [...byId("tabs", HTMLElement).querySelectorAll("button")];

export function installTabs() {
  const tabs = all();
  choose(tabs[0]);
  byId("tabs", HTMLElement).addEventListener("click", ({ target }) => target instanceof HTMLButtonElement && choose(target));
  byId("tabs", HTMLElement).addEventListener("keydown", ({ key, target }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(/** @type {HTMLButtonElement} */ (target)) + step + tabs.length) % tabs.length];
    choose(next);
    next.focus();
  });
}
