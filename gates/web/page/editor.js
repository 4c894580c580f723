// A SPARQL editor: CodeMirror in a shadow root, as its styles are made while it runs, and the page's policy lets none in.
// Ctrl-Enter runs; Tab leaves, as a page that holds the keyboard is a trap.

import { el } from "./dom.js";
import { completions } from "./completion.js";
import {
  EditorState, EditorView, HighlightStyle, StreamLanguage, autocompletion, bracketMatching, closeBrackets,
  closeBracketsKeymap, completionKeymap, defaultKeymap, history, historyKeymap, keymap, sparql, syntaxHighlighting, tags,
} from "./vendor/codemirror.js";

const COLORS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)", fontWeight: "600" },
  { tag: [tags.variableName, tags.special(tags.variableName)], color: "var(--variable)" },
  { tag: [tags.atom, tags.standard(tags.variableName)], color: "var(--atom)" },
  { tag: [tags.string, tags.number], color: "var(--string)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);
const LOOK = EditorView.theme({
  "&": { background: "var(--soft)", color: "inherit", border: "1px solid var(--edge)", borderRadius: "4px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-content": { font: "13px/1.5 ui-monospace, monospace", minHeight: "7rem", padding: "8px 0", caretColor: "var(--text)" },
  ".cm-scroller": { maxHeight: "20rem", overflow: "auto" },
  ".cm-tooltip": { background: "var(--page)", color: "var(--text)", border: "1px solid var(--edge)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--page)" },
});

// `run` is called with nothing when Ctrl-Enter is pressed.
export function editor({ id, label, text, run }) {
  const host = el("div", { id, class: "editor" });
  const root = host.attachShadow({ mode: "open" });
  const submit = { key: "Mod-Enter", run: () => (run(), true) };
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        keymap.of([submit]), history(), bracketMatching(), closeBrackets(), EditorView.lineWrapping,
        StreamLanguage.define(sparql), syntaxHighlighting(COLORS), LOOK,
        autocompletion({ override: [completions], icons: false }),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
      ],
    }),
  });
  return {
    element: host,
    get text() { return view.state.doc.toString(); },
    set text(value) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } }); },
  };
}
