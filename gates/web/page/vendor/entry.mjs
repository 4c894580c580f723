// What the page uses of CodeMirror; build.mjs makes one file of it.
export { EditorState } from "@codemirror/state";
export { EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, placeholder } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { StreamLanguage, HighlightStyle, syntaxHighlighting, bracketMatching } from "@codemirror/language";
export { autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
export { sparql } from "@codemirror/legacy-modes/mode/sparql";
export { tags } from "@lezer/highlight";
