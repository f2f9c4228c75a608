"""Variables of a program's environment that make another program of it: one rule for all who name variables.

An entry of the registry and an agent's login may set none of them; in a question about the person's own agents and
servers they are named as what they are. Standard library only: the UI thread imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_DECIDING: Mapping[str, re.Pattern[str]] = {
    what: re.compile("|".join(names.split()), re.IGNORECASE)
    for what, names in {
        "which programs run": r"""
            PATH PATHEXT COMSPEC \w*SHELL \w+_SHELL_PREFIX SYSTEMROOT WINDIR \w*EDITOR FCEDIT VISUAL PAGER
            \w+PAGER \w*BROWSER
            LESSOPEN LESSCLOSE TAR_OPTIONS FZF_\w+ CCACHE_PREFIX\w* SVN_SSH
            GIT_.* SSH_.* \w*ASKPASS \w+_RSH HG\w+ NPM_.* YARN_.* PNPM_.* COREPACK_.* UV_.* PIP_.*
            PIPX_.* CC CXX CPP LD AR RUSTC\w* CARGO_.* GO(?:FLAGS|PROXY|PATH|ROOT|TOOLCHAIN|ENV|BIN) MAKE\w* \w*FLAGS
            CMAKE_.* GCC_EXEC_PREFIX RUSTUP_.* NIX_.* \w+_PYTHON PKG_CONFIG\w* MISE_.* ASDF_.* NVM_.* FNM_.* VOLTA_.*
            RBENV_.* PYENV_.* VIRTUAL_ENV CONDA_.* INIT_CWD PROGRAMFILES\w* COMMONPROGRAM\w* SYSTEMDRIVE""",
        "which code is loaded": r"""
            LD_.* LDR_.* _RLD\w* DYLD_.* LIBPATH SHLIB_PATH GCONV_PATH GLIBC_.* OPENSSL_.* NODE_.* ELECTRON_.* BUN_.*
            DENO_.* COR_.* __COMPAT_LAYER PYTHON.* PERL.* RUBY.* GEM_.* BUNDLE_.* _?JAVA_.* JDK_.* CLASSPATH
            DOTNET_.* CORECLR_.* COMPLUS_.* R_(?:PROFILE|ENVIRON)\w* ELIXIR_.* __PYVENV_.* OCL_ICD_.* \w+SAN_OPTIONS
            LUA_.* PHPRC PHP_.* TS_NODE_.* TSX_.* BABEL_.* VSCODE_.* MAVEN_.* GRADLE_.* JULIA_.* ERL_.* TCL\w*
            GTK\w*_(?:MODULES|PATH) GIO_.* GDK_PIXBUF_.* QT_.*PATH\w* LOCPATH TERMINFO\w* TERMCAP
            \w*VIMINIT MYVIMRC NVIM_.* EXINIT VIM(?:RUNTIME)? EMACSLOADPATH IPYTHONDIR R_LIBS\w* \w+_OPTS
            MALLOC_.* VK_.* LIBGL_.*""",
        "what a shell does first": r"""
            BASH_.* BASHOPTS SHELLOPTS ENV ZDOTDIR FPATH CDPATH GLOBIGNORE IFS PS[0-4]
            PROMPT_COMMAND FISH_.* PSMODULEPATH""",
        "where settings and keys are read": r"""
            HOME USERPROFILE HOMEDRIVE HOMEPATH \w*APPDATA PROGRAMDATA ALLUSERSPROFILE XDG_.* \w+_HOME
            \w+_CONFIG(?:_CONTENT)?
            \w+_(?:CONFIG|SETTINGS|DEFAULTS)_(?:DIR|FILE|PATH) \w+_CREDENTIALS\w* KUBECONFIG WGETRC NETRC INPUTRC
            LESS\w* TMPDIR TEMP TMP""",
        "where everything is sent": r"""
            \w+_PROXY SSL.* \w+_CA_BUNDLE \w+_URL \w+_ENDPOINT \w+_API_BASE \w+_HOST HOSTALIASES RES_OPTIONS
            LOCALDOMAIN RESOLV_.* DBUS_.*""",
        "what an agent may do without a question": r"\w*SANDBOX SEATBELT_\w+ \w+_PERMISSIONS? \w*YOLO\w*",
        "where files are looked for": r"\w*PATHS?",
    }.items()
}
"""What variables decide, by their names in any case."""


def decides(variable: str) -> str:
    """What a variable of a program's environment decides, in words that follow “decides”; empty for most."""
    return next((what for what, names in _DECIDING.items() if names.fullmatch(variable)), "")


def is_variable(name: str) -> bool:
    """Whether this is the name of a variable on every system."""
    return bool(_VARIABLE.fullmatch(name))


def named_variables(names: Iterable[str]) -> str:
    """The names of variables for a question in one line: first those that decide something, each with what that is.

    A question shows a limited number of characters, and these are the ones to be seen.
    """
    names = sorted(names, key=lambda name: not decides(name))
    return ", ".join(f"{name} (decides {what})" if (what := decides(name)) else name for name in names)
