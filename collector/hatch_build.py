"""Metadata of ``deniable-collector`` that depend on its version."""

from hatchling.metadata.plugin.interface import MetadataHookInterface


class CustomMetadataHook(MetadataHookInterface):
    """The requirement of ``deniable`` in the same version, since each uses the other's content."""

    def update(self, metadata: dict[str, object]) -> None:
        """Require the same version of the device's half."""
        metadata["dependencies"] = [f"deniable=={metadata['version']}"]
