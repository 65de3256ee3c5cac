"""Writes the page of `tokkit play`, which sends requests only to its own server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tokkit.view.standalone import standalone

FILES = (
    *("tokens.css", "play.css", "text.js", "tokens.js", "heads.js", "panes.js", "editor.js"),
    *("server.js", "settings.js", "chat.js", "files.js", "why.css", "why.js", "play.js"),
)
BODY = """
<div id="banner" role="alert" hidden></div>
<main>
<form id="settings">
<span class="group"><label>Tokenizer <select id="names"></select></label>
<button id="add" type="button">Add</button></span>
<label><input id="special" type="checkbox"> Read special tokens in the text</label>
<label><input id="own" type="checkbox"> Add special tokens</label>
<label>Show <select id="show"><option>text</option><option>ids</option></select></label>
<label><input id="marks" type="checkbox" checked> White space</label>
<label>Context <input id="context" type="number" min="1" max="99999999999" step="1" placeholder="none"></label>
<label>Colours <select id="theme"><option value="">as the system</option><option>light</option><option>dark</option>
</select></label>
<button id="link" type="button">Copy a link</button>
</form>
<div id="above">
<div id="views" role="tablist" aria-label="Input">
<button id="as-text" type="button" role="tab" aria-selected="true" aria-controls="typing">Text</button>
<button id="as-chat" type="button" role="tab" aria-selected="false" aria-controls="chatting" tabindex="-1">Chat</button>
<button id="as-ids" type="button" role="tab" aria-selected="false" aria-controls="decoding" tabindex="-1">Ids</button>
</div>
<p id="status" role="status"></p>
</div>
<div id="work">
<section id="typing" role="tabpanel" aria-labelledby="as-text">
<div id="editor"><textarea id="text" aria-label="Text" spellcheck="false" autocomplete="off" autocapitalize="off">
</textarea><div id="bar" tabindex="-1" aria-hidden="true" hidden></div></div>
<p><button id="open" type="button">Open a file</button> or drop it on the page.
<input id="file" type="file" aria-label="File" hidden> <span id="size"></span></p>
</section>
<section id="chatting" role="tabpanel" aria-labelledby="as-chat" hidden>
<ol id="messages"></ol>
<button id="more" type="button">Add a message</button>
<label><input id="prompt" type="checkbox" checked> Begin the answer</label>
<label>Template <select id="whose"><option value="">the first tokenizer's</option>
<option value="written">written here</option></select></label>
<textarea id="template" aria-label="Template" spellcheck="false" rows="6" hidden></textarea>
</section>
<section id="decoding" role="tabpanel" aria-labelledby="as-ids" hidden>
<textarea id="given" aria-label="Ids" spellcheck="false" autocomplete="off" placeholder="[9906, 11, 1917, 0]">
</textarea>
<p>Paste ids in any notation. The first tokenizer decodes them.</p>
</section>
<section id="shown" aria-label="Tokens">
<div id="heads" class="heads"></div>
<div id="panes" role="region" aria-label="Tokens; arrow keys move, Enter explains"></div>
<output id="readout" aria-live="polite">Point at a token, or move with the arrow keys. Enter
or a click says why.</output>
</section>
</div>
<section id="why" aria-label="Why this token?" hidden>
<form id="asking"><label>Why <input id="word" type="text" maxlength="200" spellcheck="false"></label>
<label>by <select id="by"></select></label>
<label id="heat" hidden>Sampling's temperature
<input id="temperature" type="range" min="-1" max="2" step="0.05" value="0"> <span id="degrees">1</span></label>
<button id="draw" type="button" hidden>Draw again</button>
<button id="close" type="button">Close</button></form>
<div id="reasons"></div>
</section>
<dialog id="large" aria-labelledby="how-large"><p id="how-large"></p>
<button id="first" type="button">Show the first MB</button> <button id="cancel" type="button">Cancel</button></dialog>
</main>
"""


def play_page(names: Sequence[str], shown: Sequence[str], *, body: int, prices: Mapping[str, Any] | None = None) -> str:
    """Return the page: `names` are all tokenizers, `shown` those that are shown at first.

    `body` is the maximum size of a request in bytes. `prices` is {"currency": "USD", "models": {name: [price per
    million tokens, context or None]}}.
    """
    data = {"names": list(names), "shown": list(shown), "body": body, "prices": prices}
    return standalone("tokkit play", BODY, FILES, data, calls=True)
