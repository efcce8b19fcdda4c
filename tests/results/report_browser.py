"""Reads a report of `harness report` in a headless Chromium as a person would; prints one line a check. See scripts/check-report."""

import argparse
import json
import pathlib
import re
import sys

from playwright.sync_api import sync_playwright

VALUES = """() => [...document.querySelectorAll('.prompts tbody tr')].map(row => ({
  id: row.id,
  delta: row.querySelector('.delta b').textContent,
  name: row.querySelector('.delta span').textContent,
  text: row.textContent,
}))"""


class Checks:
    def __init__(self):
        self.failed = 0

    def __call__(self, holds, what):
        print(("ok      " if holds else "FAILED  ") + what)
        self.failed += not holds


def number(text):
    text = text.replace("\u2212", "-").replace("+", "")
    return None if text == "\u2014" else float(text)


def rows(page):
    return page.evaluate(VALUES)


def show_all(page):
    page.evaluate("() => { const rest = document.querySelector('.rest'); while (!rest.hidden) rest.firstChild.click(); }")
    return rows(page)


def count_of(page, outcome):
    return int(page.locator(f".outcomes button[value={outcome}] span").text_content())


def check_images(page, check):
    page.locator(".prompts tbody tr").first.scroll_into_view_if_needed()
    visible = "[...document.querySelectorAll('.picture img')].filter(i => i.getBoundingClientRect().top < innerHeight)"
    page.wait_for_function(f"() => {visible}.every(i => i.naturalWidth > 0)")
    check(page.evaluate(f"{visible}.length") > 0, "the images in sight show")
    page.evaluate("scrollTo(0, 0)")


def check_filters(page, check, data):
    total = len(data["prompts"])
    check(count_of(page, "all") == total, f"All counts {total} prompts")
    outcomes = [count_of(page, name) for name in ("wins", "ties", "losses")]
    check(sum(outcomes) <= total, f"wins, ties, losses: {outcomes}")
    title = next(metric["title"] for metric in data["metrics"] if metric["key"] == data["metric"])
    row = page.locator("#comparisons details tr").filter(has_text=f"{data['hero']} \u2212 {data['baseline']}").filter(has_text=title).first
    if row.count() and len({column["seed"] for column in data["columns"]}) == 1:
        page.evaluate("document.querySelector('#comparisons details').open = true")
        cells = row.locator("td").filter(has_text=re.compile(r"^\s*\d+ / \d+ / \d+\s*$"))
        printed = [int(part) for part in cells.first.text_content().split(" / ")]
        check(printed == outcomes, f"they are the table's: {printed}")
        page.evaluate("document.querySelector('#comparisons details').open = false")
    for name, kind in (("wins", "win"), ("losses", "loss"), ("ties", "tie")):
        page.locator(f".outcomes button[value={name}]").click()
        shown = show_all(page)
        check(len(shown) == count_of(page, name) and all(r["name"] == kind for r in shown), f"filter {name} shows {len(shown)} rows of that kind")
    page.locator("button[name=reset]").click()
    word = data["prompts"][-1]["t"].split()[0] or data["prompts"][-1]["x"].split()[0]
    page.locator("input[name=text]").fill(word)
    page.wait_for_timeout(300)
    shown = show_all(page)
    check(0 < len(shown) <= total and all(word.lower() in r["text"].lower() for r in shown), f"searching for {word!r} leaves {len(shown)} rows that hold it")
    page.locator("input[name=text]").fill("no such words anywhere zq")
    page.wait_for_timeout(300)
    check(len(rows(page)) == 0 and "0 of" in page.locator(".status").text_content(), "a search without results says so")
    page.locator("button[name=reset]").click()


def check_judgements(page, check, data):
    """Of a report whose images a rule has judged."""
    judged = [prompt for prompt in data["prompts"] if any("j" in cell for cell in prompt["c"])]
    if not judged:
        check(page.locator("select[name=tag], select[name=verdict], input[name=boxes]").count() == 0, "without judgements there is nothing to choose of them")
        return
    column = next(i for i, each in enumerate(data["columns"]) if each["method"] == data["hero"])
    for name, holds in (("right", lambda cell: cell.get("j") == ""), ("wrong", lambda cell: cell.get("j")), ("none", lambda cell: "j" not in cell)):
        page.locator("select[name=verdict]").select_option(name)
        expected = sum(bool(holds(prompt["c"][column])) for prompt in data["prompts"])
        check(len(show_all(page)) == expected, f"filter {name} leaves {expected} rows")
    page.locator("button[name=reset]").click()
    tag = judged[0]["g"]
    page.locator("select[name=tag]").select_option(tag)
    expected = sum(prompt.get("g") == tag for prompt in data["prompts"])
    check(len(show_all(page)) == expected, f"filter {tag} leaves {expected} rows")
    page.locator("button[name=reset]").click()
    if not any("o" in cell for prompt in judged for cell in prompt["c"]):
        return
    boxes = page.locator(".objects").first
    page.locator(".shot img[src]").first.wait_for(state="attached")
    fits = "(() => { const a = document.querySelector('.shot img').getBoundingClientRect(), b = document.querySelector('.objects').getBoundingClientRect(); return Math.max(Math.abs(a.x - b.x), Math.abs(a.y - b.y), Math.abs(a.width - b.width), Math.abs(a.height - b.height)); })()"
    check(boxes.is_visible() and page.evaluate(fits) < 1, "the boxes lie on their image")
    page.locator("input[name=boxes]").uncheck()
    check(not boxes.is_visible(), "the switch takes the boxes away")
    page.locator("input[name=boxes]").check()
    check(boxes.is_visible(), "and brings them back")


def check_sorting(page, check):
    page.locator("select[name=sort]").select_option("difference")
    page.locator("button[name=direction]").click()
    values = [number(r["delta"]) for r in show_all(page)]
    known = [value for value in values if value is not None]
    check(known == sorted(known, reverse=True) and values[: len(known)] == known, f"sorted by difference, missing last: {known[0]} to {known[-1]}")
    page.locator("button[name=direction]").click()
    check([number(r["delta"]) for r in show_all(page)][: len(known)] == sorted(known), "and the other way round")
    page.locator("button[name=reset]").click()
    header = page.locator(".prompts th button").last
    if header.is_visible():
        header.click()
        check(page.locator(".prompts th").last.get_attribute("aria-sort") == "descending", "a click on a heading sorts and says so")
        page.locator("button[name=reset]").click()


def check_links_and_keys(page, check, data, url):
    target = f"prompt-{data['prompts'][-1]['p']}"
    page.goto(f"{url}#{target}")
    page.reload()
    row = page.locator(f"[id='{target}']")
    row.wait_for(state="attached")
    page.wait_for_timeout(200)
    box = row.bounding_box()
    check(box is not None and -box["height"] < box["y"] < page.viewport_size["height"], f"the link #{target} leads to its row")
    page.goto(url)
    page.locator(".picture").first.wait_for(state="attached")
    page.keyboard.press("/")
    check(page.evaluate("document.activeElement.name") == "text", "/ leads to the search")
    page.locator(".picture").first.focus()
    page.keyboard.press("Enter")
    check(page.locator("dialog[open]").count() == 1, "Enter on an image enlarges it")
    before = page.locator("dialog h3").text_content()
    page.keyboard.press("ArrowRight")
    check(page.locator("dialog h3").text_content() != before, "the arrow keys lead to the next prompt")


def check_print(page, check, data):
    """As a printer gets it: no table is cut, and no image that is not loaded is shown."""
    page.set_viewport_size({"width": 1000, "height": 700})  # of landscape paper
    page.emulate_media(media="print", color_scheme="light")
    wide = page.evaluate("[...document.querySelectorAll('.scroll, .prompts')].filter(e => e.offsetParent && e.scrollWidth > e.clientWidth + 1).length")
    check(wide == 0 and page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "on paper no table is cut")
    shown = "[...document.querySelectorAll('.prompts img')].filter(e => e.offsetParent)"
    count = page.evaluate(f"{shown}.length")
    check(count > 0 and page.evaluate(f"{shown}.every(i => i.naturalWidth > 0)"), f"and its {count} images show")
    check(len([r for r in page.locator(".prompts tbody tr").all() if r.is_visible()]) == min(12, len(data["prompts"])), "of the first prompts")


def check_page(context, url, width, scheme, arguments, check):
    page = context.new_page()
    problems, requests = [], []
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url) if not request.url.startswith(("data:", "file:")) else None)
    page.goto(url)
    data = json.loads(page.locator("#report-data").text_content())
    if data["prompts"]:
        page.locator(".prompts tbody tr").first.wait_for(state="attached")
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    check(overflow <= 0, f"nothing sticks out sideways at {width} pixels")
    check(page.locator("svg.chart").count() == len(data["charts"]), f"{len(data['charts'])} charts")
    if arguments.screenshots:
        shoot(page, arguments.screenshots, f"{width}-{scheme}", bool(data["prompts"]))
    if data["prompts"]:
        check_images(page, check)
        check_filters(page, check, data)
        check_judgements(page, check, data)
        check_sorting(page, check)
        check_links_and_keys(page, check, data, url)
        if arguments.screenshots:
            page.screenshot(path=arguments.screenshots / f"{width}-{scheme}-dialog.png")
        page.keyboard.press("Escape")
    page.locator("nav a[href='#provenance']").click()
    page.wait_for_timeout(500)
    box = page.locator("#provenance").bounding_box()
    check(0 <= box["y"] < page.viewport_size["height"], "the foot of the page can be reached past the list")
    if data["prompts"]:
        page.goto("about:blank")
        page.goto(url)
        page.locator(".prompts tbody tr").first.wait_for(state="attached")
        page.wait_for_timeout(300)
        check_print(page, check, data)
    check(not requests, f"no request leaves the page {requests[:3] if requests else ''}")
    check(not problems, f"nothing on the console {problems[:3] if problems else ''}")
    page.close()


def shoot(page, folder, name, has_prompts):
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}-top.png")
    for section in ("paper", "comparisons", "training", "law", "prompts", "provenance"):
        place = page.locator(f"section#{section}")
        if not place.count():
            continue
        page.evaluate("id => document.getElementById(id).scrollIntoView()", section)
        page.wait_for_timeout(200)
        page.screenshot(path=folder / f"{name}-{section}.png")
    page.evaluate("scrollTo(0, 0)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments = parser.parse_args()
    check = Checks()
    with sync_playwright() as playwright:
        # Whoever runs as root has no sandbox; the file is the project's own.
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        for width, height, scheme in ((1400, 1000, "light"), (390, 844, "light"), (1400, 1000, "dark")):
            print(f"-- {width} pixels, {scheme}")
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True)
            check_page(context, arguments.report.resolve().as_uri(), width, scheme, arguments, check)
            context.close()
        browser.close()
    print("check-report: passed" if check.failed == 0 else f"check-report: {check.failed} FAILED", file=sys.stderr)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
