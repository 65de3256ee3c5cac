"""Checks that hold for every page that tokkit makes, run by script in an open browser.

TOKKIT_SCREENSHOTS names a folder that keeps what the browser showed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PHONE = {"width": 375, "height": 740, "deviceScaleFactor": 2, "mobile": True}
STOPS = "input:not([type=hidden]), select, textarea, button, a[href], [tabindex]"
# What has no name that a screen reader could say, ids that are there twice, and a page without title or language.
NAMES = (
    """
const stops = """
    + repr(STOPS)
    + """;
const wanted = document.querySelectorAll(stops + ", canvas, svg, iframe, [role=img], [role=region], [role=tablist]");
const labelled = e => (e.getAttribute("aria-labelledby") || "").split(" ").some(id => document.getElementById(id)?.
  textContent.trim());
const isNamed = e => e.getAttribute("aria-label")?.trim() || e.title.trim?.() || labelled(e)
  || [...(e.labels || [])].some(label => label.textContent.trim())
  || e.matches("button, a, output, li, h2") && e.textContent.trim();
const isSeen = e => e.checkVisibility() && !e.closest("[aria-hidden=true]");
const ids = Array.from(document.querySelectorAll("[id]"), e => e.id), found = [];
for (const e of wanted) if (isSeen(e) && !(e.matches("button canvas")) && !isNamed(e)) found.push(e.outerHTML);
for (const e of document.querySelectorAll("[tabindex='0']")) {
  const isKnown = e.matches("button, li, input, select, textarea") || e.getAttribute("role");
  if (isSeen(e) && !isKnown) found.push(e.outerHTML);
}
ids.forEach((id, k) => { if (ids.indexOf(id) < k) found.push("#" + id + " is there twice"); });
if (!document.documentElement.lang || !document.title.trim()) found.push("no language or no title");
return found.map(each => each.slice(0, 160));"""
)
# Texts with less contrast than WCAG AA asks (4.5 : 1, 3 : 1 where they are large), and edges and shapes with less than
# 3 : 1. What is half transparent is laid over what is below it.
CONTRASTS = """
const parse = text => {
  const n = (text.match(/-?[\\d.]+(e-?\\d+)?/g) || []).map(Number), by = text.startsWith("color(") ? 255 : 1;
  return [n[0] * by, n[1] * by, n[2] * by, n.length > 3 ? n[3] : 1];
};
const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a)];
const light = rgb => { const [r, g, b] = rgb.map(c => c / 255).map(
  c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const contrast = (one, other) => { const [a, b] = [light(one), light(other)].sort((a, b) => b - a);
  return (a + .05) / (b + .05); };
const ground = e => {
  if (!e) return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  const colour = parse(getComputedStyle(e).backgroundColor);
  return colour[3] === 1 ? colour.slice(0, 3) : over(colour, ground(e.parentElement));
};
const faint = e => { let made = 1; for (; e; e = e.parentElement) made *= Number(getComputedStyle(e).opacity);
  return made; };
const found = [], seen = new Set();
const check = (e, colour, least, what, under = e) => {
  const below = ground(under), [r, g, b, a] = parse(colour), real = over([r, g, b, a * faint(e)], below);
  const have = contrast(real, below);
  if (have >= least - .005) return;
  const said = what + " " + have.toFixed(2) + " of " + e.outerHTML.slice(0, 90);
  const key = what + e.tagName + e.className + have.toFixed(1);
  if (!seen.has(key)) seen.add(key), found.push(said);
};
for (const e of document.body.querySelectorAll("*")) {
  if (!e.checkVisibility({ visibilityProperty: true }) || e.closest(":disabled, script, option")) continue;
  const style = getComputedStyle(e);
  const own = Array.from(e.childNodes).some(node => node.nodeType === 3 && node.data.trim());
  const size = parseFloat(style.fontSize), isLarge = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
  const isField = e.matches("input:not([type=checkbox], [type=range], [type=file]), select, textarea");
  if (e.closest("svg")) {
    if (e.matches("text")) check(e, style.fill, 4.5, "text");
    if (e.matches("circle")) check(e, style.fill, 3, "shape", e.closest("svg").parentElement);
    if (e.matches("polyline")) check(e, style.stroke, 3, "shape", e.closest("svg").parentElement);
    continue;
  }
  if (own || isField) check(e, style.color, isLarge ? 3 : 4.5, "text");
  if (isField && e.placeholder) check(e, getComputedStyle(e, "::placeholder").color, 4.5, "placeholder");
  if (isField || e.matches("button") && parseFloat(style.borderTopWidth)) {
    check(e, style.borderTopColor, 3, "edge", e.parentElement);
  }
  if (e.matches(".bar, .swatch")) check(e, style.backgroundColor, 3, "shape", e.parentElement);
}
return found;"""
# What acts, or would act, though it came from a text: elements, handlers, controls of terminals and of writing.
ACTING = """
const found = Array.from(document.querySelectorAll("img, [onclick], [onerror], body script:not(#data) ~ script"),
  e => e.outerHTML.slice(0, 99));
const raw = /[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/;
const text = document.body.innerText;
if (raw.test(text)) found.push("a control: " + JSON.stringify(text.match(raw)[0]));
for (const e of document.querySelectorAll("[aria-label], [title]")) {
  if (raw.test(e.getAttribute("aria-label") || "") || raw.test(e.title)) found.push("a control in a name");
}
if (raw.test(document.title) || document.title === "1") found.push("the title: " + document.title);
for (const { name } of performance.getEntriesByType("resource")) {
  if (!name.startsWith(location.origin + "/")) found.push("a request of " + name);
}
return found;"""
# Before keys: what can be reached, and what is while they are pressed, with how it shows that.
WATCH = (
    """
window.reached = new Set(), window.unmarked = [];
addEventListener("focusin", ({ target }) => {
  reached.add(target);
  const style = getComputedStyle(target), isMarked = style.outlineStyle !== "none" || target.matches("circle, h2");
  if (!isMarked) unmarked.push("no ring of the focus: " + target.outerHTML.slice(0, 99));
});
window.wanted = () => Array.from(document.querySelectorAll("""
    + repr(STOPS)
    + """)).filter(e => e.tabIndex >= 0 && e.checkVisibility() && !e.disabled);
document.activeElement.blur();
return wanted().length;"""
)
REACHED = """return unmarked.concat(wanted().filter(e => !reached.has(e)).map(e =>
  "Tab does not reach " + e.outerHTML.slice(0, 99)));"""
SIDEWAYS = """
const wide = document.documentElement.scrollWidth;
const isOut = e => e.getBoundingClientRect().right > arguments[0] + 1;
const out = Array.from(document.body.querySelectorAll("*")).filter(isOut);
return wide > arguments[0] ? ["the page is " + wide + " wide: " + out.slice(0, 4).map(e => e.outerHTML.slice(0, 80))]
  : [];"""


def driven(*flags: str) -> Any:
    """Return a headless Chromium; skips where there is none."""
    from selenium import webdriver

    browser, driver_path = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which("chromedriver")
    if browser is None or driver_path is None:
        pytest.skip("needs chromium and chromedriver, which open the page: install them")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900", *flags):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))


def keep(driver: Any, name: str) -> None:
    """Save what the browser shows, if TOKKIT_SCREENSHOTS names a folder."""
    if folder := os.environ.get("TOKKIT_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        driver.save_screenshot(str(Path(folder) / f"{name}.png"))


def console(driver: Any) -> list[str]:
    """Return the errors that the browser's console has had since it was asked before."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def theme(driver: Any, name: str) -> None:
    """Make the browser's system light or dark."""
    features = [{"name": "prefers-color-scheme", "value": name}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def phone(driver: Any, *, on: bool) -> None:
    """Give the browser the size of a phone, or its own."""
    if on:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    else:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def faults(driver: Any, name: str) -> list[str]:
    """Return what is wrong with the open page: names, contrast in light and dark, what acts, a phone's width."""
    run = driver.execute_script
    found = run(NAMES) + run(ACTING)
    for each in ("light", "dark"):
        theme(driver, each)
        found += [f"{each}: {one}" for one in run(CONTRASTS)]
        keep(driver, f"{name}-{each}")
    theme(driver, "light")
    phone(driver, on=True)
    found += run(SIDEWAYS, PHONE["width"])
    keep(driver, f"{name}-phone")
    phone(driver, on=False)
    return found + console(driver)


def unreached(driver: Any) -> list[str]:
    """Return the controls that Tab does not reach, or that do not show that they are reached."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    n = driver.execute_script(WATCH)
    ActionChains(driver, duration=0).send_keys(*[Keys.TAB] * (n + 1)).perform()
    return list(driver.execute_script(REACHED))
