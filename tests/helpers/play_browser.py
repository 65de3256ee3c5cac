"""A browser with the page of `tokkit play`, whose server can be stopped and started again.

TOKKIT_SCREENSHOTS names a folder that keeps what the browser showed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOKENIZERS = ("a.json", "b.json", "u.json", "no.json")
PRICES = 'currency = "USD"\n[a]\ninput = 1000\nwindow = 3\n[other]\ninput = 2000\n'
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def driven(*flags: str) -> Any:
    """A headless Chromium; skips where there is none."""
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


class Page:
    """A browser with the page of a server, which can be stopped and started again."""

    def __init__(self, folder: Path, driver: Any) -> None:
        self.folder, self.driver, self.token = folder, driver, secrets.token_hex(8)
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        command = [sys.executable, "-m", "tokkit", "play", *TOKENIZERS, "--no-open", "--prices", "prices.toml"]
        more = ["--port", str(self.port), "--token", self.token, "--max-body", "2000000"]
        self.process = subprocess.Popen([*command, *more], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        url = self.process.stdout.readline().split()[0]
        self.port = int(url.split(":")[2].split("/")[0])
        return url

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.communicate(timeout=60)

    def open(self, link: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(f"http://127.0.0.1:{self.port}/?token={self.token}{link}")
        self.until("return settled !== null")

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str) -> Any:
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 20, 0.02).until(lambda driver: driver.execute_script(script))

    def find(self, id_: str) -> Any:
        return self.driver.find_element("id", id_)

    def spans(self, column: int = 0) -> list[str]:
        script = """return Array.from(document.querySelectorAll(".cell")).filter(cell => cell.number === arguments[0])
          .flatMap(cell => Array.from(cell.children, span => span.textContent))"""
        return self.run(script, column)

    def use(self, *names: str) -> None:
        self.run("names = arguments[0], settled = null, send()", names)
        self.until("return settled !== null")

    def write(self, text: str) -> None:
        self.run("text.value = arguments[0], settled = null, send()", text)
        self.until("return settled !== null")

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def keep(self, name: str) -> None:
        if folder := os.environ.get("TOKKIT_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))
