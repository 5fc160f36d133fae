"""What systems and programs leave in folders for themselves: passed over, as nobody's document."""

_FOLDERS = frozenset(
    ("node_modules", "__macosx", "__pycache__", "$recycle.bin", "system volume information", "lost+found", "@eadir", "#recycle")
)
_FILES = frozenset(("thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"))


def is_litter(name: str, folder: bool) -> bool:
    """Whether a file or folder is hidden, a lock of an office program, or one that a system or program keeps for itself."""
    return name.startswith((".", "~$")) or name.lower() in (_FOLDERS if folder else _FILES)
