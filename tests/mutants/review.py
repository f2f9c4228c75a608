"""Small mistakes in the code of reviews and diffs, each with the tests that should notice it."""

from __future__ import annotations

from mutant import Mutant

CHANGES = ("tests/unit/review/test_changes.py",)
PROPERTIES = ("tests/unit/review/test_changes_properties.py",)
HUNKS = ("tests/unit/review/test_hunks.py",)
MARKS = ("tests/unit/review/test_marks.py",)
TARGETS = ("tests/unit/review/test_targets.py",)
TEXT = ("tests/unit/review/test_text.py",)
REVIEWS = ("tests/unit/review/test_reviews.py",)
DIFFS = "tests/unit/review/test_diffs.py"
ON_SCREEN = "tests/sublime/test_review_changes.py"
UNSEEN = "tests/sublime/test_review_unseen.py"
KEPT = "tests/sublime/test_review_kept.py"
LOOK = "tests/sublime/test_review_look.py"
LIST = "tests/sublime/test_review_list.py"

COMPARE = "review/compare.py"
LINES = "review/changes.py"
SLIDES = "review/slides.py"
WORDS = "review/words.py"
MARKED = "review/marks.py"
SOURCE = "review/source_text.py"
TARGET = "review/targets.py"
OPEN = "review/reviews.py"
VIEW = "sublime_text/diff/view.py"
STEPS = "sublime_text/diff/navigation.py"
ALL = "sublime_text/diff/diffs.py"
ACTIONS = "sublime_text/diff/actions.py"
DRAWN = "sublime_text/diff/marks.py"

MUTANTS = [
    # Which lines differ
    Mutant(
        "equal items at the beginning of a part are not cut off",
        COMPARE,
        "b_end and a[a_start] == b[b_start]:",
        "b_end and False:",
        (*CHANGES, *HUNKS, *PROPERTIES),
    ),
    Mutant(
        "a line that occurs twice is an anchor",
        COMPARE,
        "if line in b_at and a_counts[line] == 1]",
        "if line in b_at]",
        PROPERTIES,
    ),
    Mutant("anchors cross", COMPARE, "return _rising([(i, b_at[line])", "return list([(i, b_at[line])", CHANGES),
    Mutant(
        "the largest part first",
        COMPARE,
        "heappush(parts, (a_at - a_from + b_at - b_from, a_from",
        "heappush(parts, (a_from - a_at + b_from - b_at, a_from",
        CHANGES,
    ),
    Mutant("no limit of the effort for a part", COMPARE, "if size > effort or set(a)", "if set(a)", CHANGES),
    Mutant("no limit of the pairs", COMPARE, "if pairs > effort - spent:", "if False:", CHANGES),
    Mutant("no groups of lines", COMPARE, "_GROUPS = (4, 16, 64)", "_GROUPS = ()", CHANGES),
    Mutant(
        "groups of one size",
        COMPARE,
        "_GROUPS = (4, 16, 64)",
        "_GROUPS = (64,)",
        CHANGES,
        "small groups find what the longest match finds as well; they only save effort",
    ),
    Mutant("groups are never tried", COMPARE, "_MANY_PAIRS = 5_000", "_MANY_PAIRS = 5_000_000_000", CHANGES),
    Mutant(
        "a common subsequence that is not the longest",
        COMPARE,
        "            if not i or rows[i - 1] >> (j - 1) & 1:",
        "            if i and rows[i - 1] >> (j - 1) & 1:",
        CHANGES,
    ),
    Mutant(
        "unchanged runs are too short",
        COMPARE,
        "yield old_at, new_at, length",
        "yield old_at, new_at, length - 1",
        CHANGES,
    ),
    Mutant(
        "a change is not mirrored",
        COMPARE,
        "return Change(self.new_start, self.new_end, self.old_start, self.old_end)",
        "return self",
        PROPERTIES,
    ),
    Mutant(
        "anchors whatever they cost",
        LINES,
        "slide(shortest(compare(old, new, effort), old, new, effort), old, new)",
        "slide(compare(old, new, effort), old, new)",
        HUNKS,
    ),
    Mutant("the empty piece at the end is a line", LINES, "if not old[-1] and not new[-1]:", "if False:", CHANGES),
    # Where hunks are
    Mutant(
        "no slides",
        LINES,
        "slide(shortest(compare(old, new, effort), old, new, effort), old, new)",
        "shortest(compare(old, new, effort), old, new, effort)",
        HUNKS,
    ),
    Mutant(
        "a group does not stay beside one of the other side",
        SLIDES,
        "beside = self._above if self._above in self._others else None",
        "beside = None",
        HUNKS,
    ),
    Mutant(
        "a group does not go beside one of the other side",
        SLIDES,
        "            if self._above in self._others:\n",
        "            if False:\n",
        HUNKS,
    ),
    Mutant(
        "groups do not meet on the way up",
        SLIDES,
        "if self._placed and self._placed[-1] == self._above:",
        "if False:",
        HUNKS,
    ),
    Mutant(
        "groups do not meet on the way down",
        SLIDES,
        "if self._waiting and self._waiting[-1] == self._above:",
        "if False:",
        HUNKS,
    ),
    Mutant(
        "a group that has met another stays",
        SLIDES,
        "                if size == self._size:\n",
        "                if True:\n",
        HUNKS,
        "no text is known where the group moves further; the loop is git's",
    ),
    Mutant("ten times as far", SLIDES, "MAX_SLIDE = 100", "MAX_SLIDE = 1_000", HUNKS),
    Mutant(
        "farther than its own length",
        SLIDES,
        "max(earliest, latest - size - 1, latest - MAX_SLIDE)",
        "max(earliest, latest - MAX_SLIDE)",
        HUNKS,
    ),
    Mutant(
        "of equal places the highest",
        SLIDES,
        "_compared(score, best_score) <= 0:",
        "_compared(score, best_score) < 0:",
        HUNKS,
    ),
    Mutant("the indentation counts nothing", SLIDES, "_INDENTATION = 60", "_INDENTATION = 0", HUNKS),
    Mutant("blank lines are bad", SLIDES, "_BLANK_LINE = -30", "_BLANK_LINE = 30", HUNKS),
    Mutant("the end of the text is as good as any place", SLIDES, "_END_OF_TEXT = 21", "_END_OF_TEXT = 0", HUNKS),
    Mutant(
        "a line that is less indented is as good as any",
        SLIDES,
        "_DEDENTED, _DEDENTED_AFTER_BLANK = 23, 17",
        "_DEDENTED, _DEDENTED_AFTER_BLANK = 0, 0",
        HUNKS,
    ),
    # Edits
    Mutant(
        "a revert takes the last ending with it",
        LINES,
        "return Edit(start, end - 1, text)  # the",
        "return Edit(start, end, text)  # the",
        PROPERTIES,
    ),
    Mutant("the last line is like any other", LINES, "if change.old_end == len(lines):", "if False:", PROPERTIES),
    Mutant(
        "a filler is a line too low",
        LINES,
        'Filler("old", change.old_end - 1, lines)',
        'Filler("old", change.old_end, lines)',
        PROPERTIES,
    ),
    Mutant("one line needs no filler", LINES, "elif lines < 0:", "elif lines < -1:", PROPERTIES),
    Mutant(
        "an empty text has a line",
        LINES,
        "for change in found) if _joined(new) else 0",
        "for change in found)",
        CHANGES,
    ),
    Mutant("lines are paired in any number", LINES, "> _MAX_LIKENED:", "> 100_000 * _MAX_LIKENED:", CHANGES),
    # Words and marks
    Mutant("lines that have little in common have words", WORDS, "_SIMILAR = 0.5", "_SIMILAR = 0.1", CHANGES),
    Mutant(
        "a blank between two words splits the mark",
        WORDS,
        "or not old_line[i : i + length].isspace()",
        "or True",
        CHANGES,
    ),
    Mutant(
        "a new indentation is two marks",
        WORDS,
        "        if old_line[old_at:old_next].isspace() and",
        "        if False and",
        CHANGES,
    ),
    Mutant("more words are marked (MAX_WORDS)", MARKED, "MAX_WORDS = 2_000", "MAX_WORDS = 2_001", MARKS),
    Mutant(
        "what was edited counts as reverted", MARKED, "is_edited = at < len(found) and", "is_edited = False and", MARKS
    ),
    Mutant(
        "a change of lines has a filler of its own",
        MARKED,
        "None if change.inserted else (new_starts",
        "(new_starts",
        MARKS,
    ),
    Mutant(
        "a filler at the top is like any other",
        MARKED,
        "return any(gap.side == side and gap.after < 0 for gap in gaps[:1])",
        "return False",
        (f"{LOOK}::above",),
    ),
    # Bytes
    Mutant(
        "the endings of the file go before those of the proposal",
        SOURCE,
        "sources.insert(0, (file.shown, file.endings))",
        "sources.append((file.shown, file.endings))",
        TEXT,
    ),
    Mutant(
        "the endings of the file always count",
        SOURCE,
        "if file and set(file.endings) <= set(self.endings):",
        "if file:",
        TEXT,
    ),
    Mutant(
        "a CR before a LF becomes one ending", SOURCE, 'restored[at] = "\\r\\n"  # otherwise', "pass  # otherwise", TEXT
    ),
    Mutant("new lines have the rarest ending", SOURCE, "most_common(1)[0][0]", "most_common()[-1][0]", TEXT),
    Mutant(
        "the byte order mark goes", SOURCE, "return BOM + edited if self.has_mark else edited", "return edited", TEXT
    ),
    Mutant(
        "a text that is the file again is not the file", SOURCE, "if file and edited == file.shown:", "if False:", TEXT
    ),
    # Which changes are meant
    Mutant(
        "the lines of the left side count on the right one (_across)",
        TARGET,
        "return new_at + min(at - old_at, length)",
        "return at",
        (f"{ON_SCREEN}::carets_of_the_left",),
    ),
    Mutant(
        "lines after a run correspond to lines beyond it",
        TARGET,
        "return new_at + min(at - old_at, length)",
        "return new_at + at - old_at",
        TARGETS,
    ),
    Mutant(
        "carets on the left count as if on the right",
        TARGET,
        "lines = target.lines if target.side ==",
        "lines = target.lines if True or target.side ==",
        (f"{ON_SCREEN}::carets_of_the_left",),
    ),
    Mutant(
        "a fingerprint without the text",
        TARGET,
        'return f"{start}-{end}-{digest.hexdigest()}-{len(lines)}"',
        'return f"{start}-{end}"',
        TARGETS,
    ),
    Mutant(
        "a selection of all leaves what is behind the last line",
        TARGET,
        "if first < last == len(lines) - 1:",
        "if False:",
        TARGETS,
    ),
    Mutant(
        "a change that could be elsewhere is not found",
        TARGET,
        "hit = [change for change in found if _could_touch(change, first, last, side, lines)]",
        "pass",
        TARGETS,
    ),
    Mutant(
        "a change without lines touches the line above",
        TARGET,
        "if start == end and first <= start <= last]",
        "if start == end and first < start <= last]",
        TARGETS,
    ),
    # Reviews
    Mutant(
        "the file of an orphan decides (orphans in look)",
        OPEN,
        "is not review or review.orphaned:",
        "is not review:",
        REVIEWS,
    ),
    Mutant(
        "edits that a CLI takes are kept as well",
        OPEN,
        "keep = not (is_answered and families.keeps_edits(owner.cli))",
        "keep = True",
        REVIEWS,
    ),
    Mutant(
        "edits that a CLI drops are lost",
        OPEN,
        "keep = not (is_answered and families.keeps_edits(owner.cli))",
        "keep = not is_answered",
        REVIEWS,
    ),
    Mutant(
        "edits are lost whoever closes",
        OPEN,
        "keep = not (is_answered and families.keeps_edits(owner.cli))",
        "keep = not families.keeps_edits(owner.cli)",
        REVIEWS,
    ),
    Mutant(
        "a file that stays the same is read again",
        OPEN,
        "        if seen == review.seen:\n",
        "        if False:\n",
        REVIEWS,
    ),
    Mutant(
        "an empty text is accepted",
        OPEN,
        "if not text and review.shown:",
        "if False:",
        (f"{DIFFS}::test_an_empty_text_is_refused_with_a_message_and_the_diff_stays",),
    ),
    Mutant(
        "an empty proposal is refused",
        OPEN,
        "if not text and review.shown:",
        "if not text:",
        (f"{DIFFS}::test_an_empty_proposal_may_be_accepted",),
    ),
    Mutant(
        "a large text is restored on the loop",
        OPEN,
        "if text != review.shown and review.is_costly:",
        "if False:",
        (f"{DIFFS}::TestOnDisk",),
    ),
    Mutant(
        "a file that holds the proposal leaves the diff open",
        OPEN,
        "if disk and review.request is None and disk.exists and disk.source == review.proposed:",
        "if False:",
        (f"{DIFFS}::TestOnDisk",),
    ),
    Mutant(
        "endings that were reverted are not",
        "review/review.py",
        "if self.keeps_endings and self.disk.exists:",
        "if False:",
        (f"{DIFFS}::TestOnDisk",),
    ),
    # The view
    Mutant(
        "the carets are lost at the inline toggle",
        "sublime_text/diff/inline.py",
        "self._view.sel().add_all(carets)",
        "pass",
        (f"{ON_SCREEN}::every_hunk",),
    ),
    Mutant(
        "stale marks are drawn",
        ALL,
        "diff.proposal.is_valid() and diff.proposal.change_count() == version:",
        "diff.proposal.is_valid():",
        (f"{ON_SCREEN}::stale",),
    ),
    Mutant(
        "a link of an older drawing works",
        ALL,
        "if generation in (str(diff.generation), ANY_GENERATION):",
        "if True:",
        (f"{ON_SCREEN}::out_of_date",),
    ),
    Mutant(
        "without fillers the sides scroll by pixels (_across)",
        "sublime_text/diff/scroll.py",
        "return there.text_to_layout(other_point)[1] + y - here.text_to_layout(point)[1]",
        "return y",
        (f"{ON_SCREEN}::without_fillers",),
    ),
    Mutant(
        "a text that a view changes is taken from it",
        VIEW,
        "self._is_exact = shown == self.review.shown",
        "self._is_exact = True",
        (f"{KEPT}::view_changes",),
    ),
    Mutant(
        "no way sideways",
        STEPS,
        "        show_sideways(proposal, word)\n",
        "        pass\n",
        (f"{ON_SCREEN}::far_to_the_right",),
    ),
    Mutant(
        "a wrap-around is not said",
        STEPS,
        "    if wrapped:\n",
        "    if False:\n",
        (f"{ON_SCREEN}::next_goes_down",),
    ),
    Mutant("narrow panes have words", VIEW, "is_short=self._is_too_narrow())", "is_short=False)", (f"{LOOK}::narrow",)),
    Mutant(
        "commands do not wait for one another",
        ACTIONS,
        "while self._queue and self._waiting is None:",
        "while self._queue:",
        (f"{ON_SCREEN}::typed_fast",),
    ),
    Mutant(
        "a revert that was overtaken is dropped",
        ACTIONS,
        "!= version and self._tries < TRIES:",
        "!= version and False:",
        (f"{ON_SCREEN}::overtaken",),
    ),
    Mutant(
        "the line after a selection counts",
        ACTIONS,
        "last - (column == 0 and last > first)",
        "last",
        (f"{ON_SCREEN}::line_after",),
    ),
    Mutant(
        "fillers that stay the same are drawn again",
        DRAWN,
        "if same := there.get(filler):",
        "if same := None:",
        (f"{ON_SCREEN}::fillers_that_stay",),
    ),
    Mutant(
        "keys answer at once",
        ALL,
        "elif by_key and not attention.is_settled:",
        "elif False:",
        (f"{UNSEEN}::wait_until", f"{UNSEEN}::comes_back"),
    ),
    Mutant(
        "keys answer a diff that nobody has gone to",
        ALL,
        "elif by_key and not attention.is_entered:",
        "elif False:",
        (f"{UNSEEN}::got_the_focus",),
    ),
    Mutant(
        "a second key answers the diff that comes back",
        ALL,
        "other.attention.came_back()",
        "pass",
        (f"{UNSEEN}::comes_back",),
    ),
    Mutant(
        "after an answer the first file opens",
        ALL,
        "(*order[at + 1 :], *order[:at])",
        "(*order[:at], *order[at + 1 :])",
        (f"{LIST}::after_an_answer",),
    ),
    Mutant(
        "edits go with a tab that is closed",
        ALL,
        "if diff and view == diff.proposal and diff.is_edited:",
        "if False:",
        (KEPT,),
    ),
]
