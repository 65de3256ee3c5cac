"""Opens a standalone page in headless Chromium; the test skips if there is none."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")


def opened(page: str, acts: str, folder: Path, *flags: str) -> str:
    """The page as Chromium has it after `acts`, which are statements of JavaScript behind the page's own."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("needs Chromium, which opens the page: install it")
    # Without the data, which need not come back.
    acts = f'try {{\n{acts}\n}} catch (error) {{ document.title = error.stack; }}\nelement("data").remove();\n'
    file = folder / "page.html"
    file.write_text(allowed(page, acts).replace("</body>", f"<script>{acts}</script></body>"), encoding="utf-8")
    dom = printed(browser, file.as_uri(), folder, flags)
    if dom is None and printed(browser, "about:blank", folder, flags) is None:
        pytest.skip(f"{browser} does not run here")
    assert dom is not None, f"{browser} does not print {file}"
    return dom


def printed(browser: str, address: str, folder: Path, flags: Sequence[str]) -> str | None:
    """What Chromium has of a page after its scripts; None if it fails."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}", *flags]
    done = subprocess.run([*command, "--dump-dom", address], capture_output=True, text=True, timeout=600, check=False)
    return None if done.returncode or "<html" not in done.stdout else done.stdout


def allowed(page: str, script: str) -> str:
    """The page with a policy that lets one more script run; the rest of its policy is as it was."""
    made = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert page.count("; script-src 'sha256-") == 1
    return page.replace("; script-src ", f"; script-src 'sha256-{made}' ")


def title_of(dom: str) -> str:
    """What the acts left in the page's title."""
    return html.unescape(re.search("<title>(.*?)</title>", dom, re.DOTALL)[1])


def text_of(dom: str, id_: str) -> str:
    """The text of the element with this id, which holds no other element."""
    return html.unescape(re.search(rf'<(\w+)[^>]*\bid="{id_}"[^>]*>(.*?)</\1>', dom, re.DOTALL)[2])
