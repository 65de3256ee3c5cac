"""A browser with the page of `tokkit play`, whose server can be stopped and started again."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import page_checks

HOSTILE_NAME = "<b onclick=x>\u202e.json"
TOKENIZERS = ("a.json", "b.json", "u.json", "no.json", HOSTILE_NAME)
PRICES = 'currency = "USD"\n[a]\ninput = 1000\nwindow = 3\n[other]\ninput = 2000\n'


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
        return page_checks.console(self.driver)

    def keep(self, name: str) -> None:
        page_checks.keep(self.driver, f"play-{name}")
