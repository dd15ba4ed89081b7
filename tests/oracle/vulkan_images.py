"""Images, views, samplers and texel buffers of a Vulkan device, for requests of ``vulkan_worker``.

An image is described by plain data: ``type`` (1d, 2d, 3d, cube, 1d_array, 2d_array, cube_array), ``format`` and ``view_format`` (numbers of
VkFormat), ``extent`` (width, height, depth), ``layers``, ``levels`` (bytes of each level, all layers), ``storage``, ``swizzle``,
``view_levels`` and ``view_layers`` (first, count), ``sampler`` (fields of VkSamplerCreateInfo). A sampler of its own has the type ``sampler`` and
only that; a texel buffer has the type ``buffer``, a format, ``levels`` with its bytes, and ``storage``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import vulkan as vk
from vulkan._vulkan import ffi

_REDUCTION_MODE = 1000130001               # VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO
_IMAGE_TYPES = {"1d": 0, "1d_array": 0, "2d": 1, "2d_array": 1, "cube": 1, "cube_array": 1, "3d": 2}
_VIEW_TYPES = {"1d": 0, "2d": 1, "3d": 2, "cube": 3, "1d_array": 4, "2d_array": 5, "cube_array": 6}
KINDS = {
    "sampler": vk.VK_DESCRIPTOR_TYPE_SAMPLER, "combined_image_sampler": vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
    "sampled_image": vk.VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, "storage_image": vk.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
    "uniform_texel_buffer": vk.VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, "storage_texel_buffer": vk.VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER,
    "uniform_buffer": vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, "storage_buffer": vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    "mutable": 1000351000,                  # VK_DESCRIPTOR_TYPE_MUTABLE_EXT, which the Python package does not have
}
"""Vulkan's numbers of the types of descriptors, by the names that `pyaco.descriptors.types.DescriptorType` has for them."""


@dataclass
class DeviceImage:
    """An image with all that belongs to it; of a texel buffer the view and, as staging, the buffer, of a sampler only that."""

    asked: dict[str, Any]
    image: Any = None
    memory: Any = None
    view: Any = None
    sampler: Any = None
    staging: list[tuple[Any, Any, Any, int]] = field(default_factory=list)


class Images:
    """The images of one request, on a `vulkan_worker.Device`."""

    def __init__(self, device: Any, asked: dict[Any, dict[str, Any]]) -> None:
        self.device = device
        makers = {"buffer": self._texel_buffer, "sampler": self._sampler}
        self.found = {key: makers.get(each["type"], self._image)(each) for key, each in asked.items()}
        self._in_commands(self._upload)

    def _sampler(self, asked: dict[str, Any]) -> DeviceImage:
        return DeviceImage(asked, sampler=vk.vkCreateSampler(self.device.device, vk.VkSamplerCreateInfo(**asked["sampler"]), None))

    def _texel_buffer(self, asked: dict[str, Any]) -> DeviceImage:
        data = asked["levels"][0]
        staging = self.device._buffer(len(data))
        staging[2][: len(data)] = data
        info = vk.VkBufferViewCreateInfo(buffer=staging[0], format=asked["format"], offset=0, range=len(data))
        return DeviceImage(asked, view=vk.vkCreateBufferView(self.device.device, info, None), staging=[staging])

    def _image(self, asked: dict[str, Any]) -> DeviceImage:
        device = self.device.device
        usage = vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT
        usage |= vk.VK_IMAGE_USAGE_STORAGE_BIT if asked["storage"] else vk.VK_IMAGE_USAGE_SAMPLED_BIT
        flags = (vk.VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT if "cube" in asked["type"] else 0) | vk.VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT
        width, height, depth = asked["extent"]
        image = vk.vkCreateImage(device, vk.VkImageCreateInfo(
            flags=flags, imageType=_IMAGE_TYPES[asked["type"]], format=asked["format"], extent=vk.VkExtent3D(width, height, depth),
            mipLevels=len(asked["levels"]), arrayLayers=asked["layers"], samples=1, tiling=vk.VK_IMAGE_TILING_OPTIMAL, usage=usage), None)
        need = vk.vkGetImageMemoryRequirements(device, image)
        memory = vk.vkAllocateMemory(device, vk.VkMemoryAllocateInfo(
            allocationSize=need.size, memoryTypeIndex=self.device._memory_type(need.memoryTypeBits)), None)
        vk.vkBindImageMemory(device, image, memory, 0)
        levels, layers = asked.get("view_levels") or (0, len(asked["levels"])), asked.get("view_layers") or (0, asked["layers"])
        # VkComponentSwizzle: 1 zero, 2 one, 3 to 6 the components
        r, g, b, a = (entry + 3 if entry < 4 else entry - 3 for entry in asked.get("swizzle") or range(4))
        view = vk.vkCreateImageView(device, vk.VkImageViewCreateInfo(
            image=image, viewType=_VIEW_TYPES[asked["type"]], format=asked["format"], components=vk.VkComponentMapping(r, g, b, a),
            subresourceRange=vk.VkImageSubresourceRange(asked.get("aspect", 1), levels[0], levels[1], layers[0], layers[1])), None)
        found = DeviceImage(asked, image, memory, view)
        if "sampler" in asked:
            found.sampler = vk.vkCreateSampler(device, vk.VkSamplerCreateInfo(**asked["sampler"]), None)
        for data in asked["levels"]:
            found.staging.append(self.device._buffer(len(data)))
            found.staging[-1][2][: len(data)] = data
        return found

    def _in_commands(self, record: Any) -> None:
        device = self.device
        commands = vk.vkAllocateCommandBuffers(device.device, vk.VkCommandBufferAllocateInfo(
            commandPool=device.pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1))[0]
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        for each in self.found.values():
            if each.image is not None:
                record(commands, each)
        vk.vkEndCommandBuffer(commands)
        vk.vkQueueSubmit(device.queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[commands])], vk.VK_NULL_HANDLE)
        vk.vkQueueWaitIdle(device.queue)
        vk.vkFreeCommandBuffers(device.device, device.pool, 1, [commands])

    def _region(self, each: DeviceImage, level: int) -> Any:
        width, height, depth = (max(extent >> level, 1) for extent in each.asked["extent"])
        return vk.VkBufferImageCopy(
            bufferOffset=0, bufferRowLength=0, bufferImageHeight=0,
            imageSubresource=vk.VkImageSubresourceLayers(each.asked.get("aspect", 1), level, 0, each.asked["layers"]),
            imageOffset=vk.VkOffset3D(0, 0, 0), imageExtent=vk.VkExtent3D(width, height, depth))

    def _upload(self, commands: Any, each: DeviceImage) -> None:
        barrier = vk.VkImageMemoryBarrier(
            srcAccessMask=0, dstAccessMask=vk.VK_ACCESS_TRANSFER_WRITE_BIT, oldLayout=vk.VK_IMAGE_LAYOUT_UNDEFINED,
            newLayout=vk.VK_IMAGE_LAYOUT_GENERAL, srcQueueFamilyIndex=vk.VK_QUEUE_FAMILY_IGNORED,
            dstQueueFamilyIndex=vk.VK_QUEUE_FAMILY_IGNORED, image=each.image,
            subresourceRange=vk.VkImageSubresourceRange(each.asked.get("aspect", 1), 0, len(each.staging), 0, each.asked["layers"]))
        everything = vk.VK_PIPELINE_STAGE_ALL_COMMANDS_BIT
        vk.vkCmdPipelineBarrier(commands, everything, everything, 0, 0, None, 0, None, 1, [barrier])
        for level, (buffer, _, _, _) in enumerate(each.staging):
            vk.vkCmdCopyBufferToImage(commands, buffer, each.image, vk.VK_IMAGE_LAYOUT_GENERAL, 1, [self._region(each, level)])

    def _download(self, commands: Any, each: DeviceImage) -> None:
        for level, (buffer, _, _, _) in enumerate(each.staging):
            vk.vkCmdCopyImageToBuffer(commands, each.image, vk.VK_IMAGE_LAYOUT_GENERAL, buffer, 1, [self._region(each, level)])

    def contents(self) -> dict[Any, list[bytes]]:
        """Return the bytes of every level of the images that shaders write to."""
        self._in_commands(lambda commands, each: self._download(commands, each) if each.asked["storage"] else None)
        return {key: [bytes(staging[2][: len(data)]) for staging, data in zip(each.staging, each.asked["levels"], strict=True)]
                for key, each in self.found.items() if each.asked.get("storage")}

    def blit(self, source: Any, destination: Any, regions: list[dict[str, Any]], filter: int) -> None:
        """Blit from one of the images to another: regions of levels, first layers and counts, and corners."""
        commands_of = []
        for asked in regions:
            layers = [vk.VkImageSubresourceLayers(1, *asked[end]) for end in ("source", "destination")]
            corners = [[vk.VkOffset3D(*corner) for corner in asked[f"{end}_corners"]] for end in ("source", "destination")]
            commands_of.append(vk.VkImageBlit(srcSubresource=layers[0], srcOffsets=corners[0], dstSubresource=layers[1], dstOffsets=corners[1]))
        first, second = self.found[source], self.found[destination]

        def record(commands: Any, each: DeviceImage) -> None:
            if each is second:
                vk.vkCmdBlitImage(commands, first.image, vk.VK_IMAGE_LAYOUT_GENERAL, second.image, vk.VK_IMAGE_LAYOUT_GENERAL, len(commands_of),
                                  commands_of, filter)

        self._in_commands(record)

    def writes(self, sets: list[Any], kinds: dict[Any, int]) -> list[Any]:
        """Return the writes of descriptors."""
        found = []
        for key, each in self.found.items():
            if each.asked["type"] == "buffer":
                told = {"pTexelBufferView": [each.view]}
            else:
                told = {"pImageInfo": [vk.VkDescriptorImageInfo(sampler=each.sampler or ffi.NULL, imageView=each.view or ffi.NULL,
                                                               imageLayout=vk.VK_IMAGE_LAYOUT_GENERAL)]}
            element = key[2] if len(key) == 3 else 0
            found.append(vk.VkWriteDescriptorSet(dstSet=sets[key[0]], dstBinding=key[1], dstArrayElement=element, descriptorCount=1,
                                                 descriptorType=kinds[key[:2]], **told))
        return found

    def free(self) -> None:
        """Destroy all."""
        device = self.device.device
        for each in self.found.values():
            if each.sampler is not None:
                vk.vkDestroySampler(device, each.sampler, None)
            if each.image is not None:
                vk.vkDestroyImageView(device, each.view, None)
                vk.vkDestroyImage(device, each.image, None)
                vk.vkFreeMemory(device, each.memory, None)
            elif each.view is not None:
                vk.vkDestroyBufferView(device, each.view, None)
            self.device._free(None, each.staging)


def sampler(device: Any, fields: dict[str, Any]) -> Any:
    """Make a sampler of the fields of VkSamplerCreateInfo, ``reduction``, and ``ycbcr`` (fields of VkSamplerYcbcrConversionCreateInfo)."""
    following = ffi.new("VkSamplerReductionModeCreateInfo*")
    following.sType, following.reductionMode = _REDUCTION_MODE, fields.get("reduction", 0)
    if "ycbcr" in fields:
        asked = {name: value for name, value in fields["ycbcr"].items() if name != "components"}
        conversion = vk.vkCreateSamplerYcbcrConversion(
            device, vk.VkSamplerYcbcrConversionCreateInfo(components=vk.VkComponentMapping(*fields["ycbcr"]["components"]), **asked), None)
        following = vk.VkSamplerYcbcrConversionInfo(conversion=conversion)
    known = {name: value for name, value in fields.items() if name not in ("reduction", "ycbcr")}
    return vk.vkCreateSampler(device, vk.VkSamplerCreateInfo(pNext=following, **known), None)
