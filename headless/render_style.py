"""The style sheet of pictures."""

from __future__ import annotations

STYLE = """
* { box-sizing: border-box; }
body { margin: 0; background: transparent;
  font: 13px/20px system-ui, -apple-system, "Segoe UI", Ubuntu, Cantarell, "Noto Sans", sans-serif; }
.window { position: relative; display: flex; flex-direction: column; overflow: hidden;
  border-radius: 9px; border: 1px solid var(--border);
  background: var(--background); color: var(--foreground); }
.title { flex: none; height: 32px; padding: 0 12px; display: flex; align-items: center; gap: 7px;
  background: var(--chrome); border-bottom: 1px solid var(--border); font-size: 12px; }
.title i { width: 11px; height: 11px; border-radius: 50%; background: var(--redish); opacity: .85; }
.title i + i { background: var(--yellowish); }
.title i + i + i { background: var(--greenish); }
.title span { flex: 1; text-align: center; margin-right: 54px; opacity: .75; }
.middle { position: relative; flex: 1; display: flex; min-height: 0; }
.sidebar { flex: none; width: 200px; padding: 10px 0; overflow: hidden; white-space: nowrap;
  background: var(--chrome); border-right: 1px solid var(--border); font-size: 12px; }
.sidebar .heading { padding: 0 14px 4px; font-size: 10.5px; letter-spacing: .06em; opacity: .55; }
.sidebar .folder { padding: 0 14px; font-weight: 600; }
.sidebar .entry { padding: 1px 14px 1px 30px; opacity: .85; }
.sidebar .entry.active { background: var(--tab); opacity: 1; }
.content { flex: 1; display: flex; flex-direction: column; min-width: 0; }
.groups { position: relative; flex: 1; min-height: 0; }
.group { position: absolute; display: flex; flex-direction: column; }
.tabs { flex: none; height: 34px; display: flex; align-items: flex-end; gap: 2px; padding: 0 6px;
  background: var(--chrome); overflow: hidden; }
.tab { height: 29px; padding: 0 10px 0 14px; display: flex; align-items: center; gap: 12px; min-width: 90px;
  border-radius: 6px 6px 0 0; background: var(--tab); font-size: 12px; white-space: nowrap;
  color: color-mix(in srgb, var(--foreground) 65%, transparent); }
.tab.selected { background: var(--background); color: var(--foreground); }
.tab.active { box-shadow: inset 0 2px 0 var(--accent); }
.tab.transient span { font-style: italic; }
.tab b { margin-left: auto; font-weight: 400; opacity: .55; font-size: 11px; }
.panes { flex: 1; display: flex; min-height: 0; background: var(--background); }
.pane { position: relative; flex: 1; min-width: 0; overflow: hidden; }
.pane + .pane { border-left: 1px solid var(--border); }
.sheet { padding: 12px 18px; }
.view { padding: 5px 0; font: 13px/20px "JetBrains Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono",
  "Liberation Mono", monospace; }
.pane > .view.ended { position: absolute; inset: auto 0 0 0; min-height: 100%; }
.row { position: relative; display: flex; height: 20px; }
.row pre { margin: 0; padding-left: 10px; font: inherit; tab-size: 4; white-space: pre; }
.number { position: relative; flex: none; width: calc(var(--digits) * 1ch + 34px); padding-right: 12px;
  text-align: right; color: var(--gutter); opacity: .8; }
.number[style]::after { content: ""; position: absolute; right: 3px; top: 0; width: 3px; height: 20px;
  background: var(--mark); }
.unnumbered .number { color: transparent; }
.fold { padding: 0 4px; margin: 0 3px; border-radius: 4px; font-style: normal; opacity: .7;
  background: color-mix(in srgb, var(--foreground) 18%, transparent); }
.wrapped .row { height: auto; min-height: 20px; }
.wrapped .row pre { flex: 1; white-space: pre-wrap; overflow-wrap: anywhere; }
.bare .number { width: 4px; padding: 0; overflow: hidden; color: transparent; }
.caret { display: inline-block; width: 2px; height: 17px; margin: 0 -1px; vertical-align: text-bottom;
  background: var(--caret); }
.inline { display: inline-block; height: 20px; vertical-align: top; }
.phantom .mini { line-height: 20px; }
.phantom { overflow: hidden; padding-right: 10px;
  padding-left: calc(var(--digits) * 1ch + 44px + var(--indent) * 1ch); }
.bare .phantom { padding-left: 14px; }
.notes { position: absolute; right: 0; top: 0; height: 20px; display: flex; gap: 4px; z-index: 1; }
.note { height: 20px; padding: 0 10px; border-left: 2px solid; font-size: 12px; overflow: hidden; white-space: nowrap;
  background: color-mix(in srgb, var(--background) 90%, var(--foreground)); }
.mini { font-size: 13px; line-height: 1.45; color: var(--foreground); }
.mini a { color: var(--bluish); }
.note .mini { line-height: 20px; font-size: 12px; }
.popup { position: absolute; left: 80px; top: 60px; max-width: 420px; padding: 8px 12px; border-radius: 5px;
  background: color-mix(in srgb, var(--background) 90%, var(--foreground)); border: 1px solid var(--border);
  box-shadow: 0 6px 22px rgb(0 0 0 / .35); }
.panel { flex: none; max-height: 220px; overflow: hidden; border-top: 1px solid var(--border);
  background: var(--tab); }
.question { position: absolute; left: 50%; top: 0; width: 560px; margin-left: -280px; padding: 8px;
  border-radius: 0 0 7px 7px; background: var(--tab); border: 1px solid var(--border); border-top: 0;
  box-shadow: 0 8px 28px rgb(0 0 0 / .4); }
.question .input { padding: 5px 9px; margin-bottom: 6px; border-radius: 4px; background: var(--background);
  opacity: .9; }
.question .item { padding: 4px 9px; border-radius: 4px; }
.question .item.selected { background: var(--selection); }
.question .item em { float: right; font-style: normal; opacity: .6; }
.question .item small { opacity: .65; }
.question .item b { float: left; width: 24px; margin: 2px 10px 2px 0; border-radius: 4px; line-height: 24px;
  text-align: center; color: var(--bluish); background: color-mix(in srgb, var(--bluish) 18%, transparent); }
.question .item:has(b) small { display: block; margin-left: 34px; }
.dialog { position: absolute; left: 50%; top: 30px; width: 680px; margin-left: -340px; padding: 20px 24px;
  border-radius: 10px; background: var(--tab); border: 1px solid var(--border);
  box-shadow: 0 12px 44px rgb(0 0 0 / .5); box-sizing: border-box; }
.dialog pre { margin: 0; font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; }
.dialog div { margin-top: 16px; text-align: right; }
.dialog span { display: inline-block; min-width: 70px; margin-left: 10px; padding: 4px 12px; border-radius: 5px;
  text-align: center; border: 1px solid var(--border); }
.dialog span:first-child { background: var(--selection); }
.status { flex: none; height: 27px; padding: 0 14px; display: flex; justify-content: space-between;
  align-items: center; font-size: 12px; background: var(--chrome); border-top: 1px solid var(--border); }
.status > div { opacity: .8; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.status span { margin-left: 28px; }
"""
