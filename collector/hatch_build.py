"""Metadata of ``deniable-collector`` that depend on its version."""

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomMetadataHook(MetadataHookInterface):
    """The requirement of ``deniable``: both are of one tag, and each uses what the other has."""

    def update(self, metadata: dict[str, object]) -> None:
        """Require the same version of the device's half."""
        metadata["dependencies"] = [f"deniable=={metadata['version']}"]
