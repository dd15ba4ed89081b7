"""One process that holds one Vulkan device and serves requests of ``vulkan_peer`` over its standard streams.

A driver is chosen by environment variables before the loader starts, and RADV aborts the process on an unknown
family: so each device lives in a process of its own.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, BinaryIO

import vulkan as vk
from call_times import CallTimes, nanoseconds_of_tick
from spirv_reflection import reflect
from vulkan._vulkan import ffi, lib
from vulkan_images import Images, sampler

DEVICE_EXTENSIONS = (
    "VK_KHR_pipeline_executable_properties",
    "VK_EXT_shader_atomic_float",
    "VK_KHR_workgroup_memory_explicit_layout",
    "VK_KHR_shader_clock",
    "VK_EXT_mutable_descriptor_type",
)
BUFFER_USAGE = (
    vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | vk.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
    | vk.VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT | vk.VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT
    | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT | vk.VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT
)  # fmt: skip
DESCRIPTOR_TYPES = {
    "storage": vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
    "uniform": vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    "image": vk.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
}
CAPTURE = 0x40 | 0x80  # VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR, ..._INTERNAL_REPRESENTATIONS_BIT_KHR
# The Python package has other numbers for these.
MUTABLE_FEATURES, MUTABLE_CREATE_INFO = 1000351000, 1000351002
ADDRESS_USAGE = 0x00020000  # VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
ADDRESS_ALLOCATION = 0x00000002  # VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT


class Device:
    """A Vulkan device with every feature that it offers (robust buffer access excepted) and one compute queue."""

    counters: CallTimes | None = None

    def __init__(self, instance: Any = None) -> None:
        application = vk.VkApplicationInfo(pApplicationName="pyaco tests", apiVersion=vk.VK_MAKE_VERSION(1, 3, 0))
        self.instance = instance or vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=application), None)
        self.physical = vk.vkEnumeratePhysicalDevices(self.instance)[0]
        properties = vk.vkGetPhysicalDeviceProperties(self.physical)
        self.name = properties.deviceName
        self.offered = {
            extension.extensionName for extension in vk.vkEnumerateDeviceExtensionProperties(self.physical, None)
        }
        self.extensions = [name for name in DEVICE_EXTENSIONS if name in self.offered]
        self.features = self._features()
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=self._queue_family(), pQueuePriorities=[1.0])
        self.device = vk.vkCreateDevice(
            self.physical,
            vk.VkDeviceCreateInfo(
                pNext=self.features, pQueueCreateInfos=[queue], ppEnabledExtensionNames=self.extensions
            ),
            None,
        )
        self.samplers: dict[int, Any] = {}
        self.queue = vk.vkGetDeviceQueue(self.device, self._queue_family(), 0)
        self.pool = vk.vkCreateCommandPool(
            self.device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=self._queue_family()), None
        )
        self.has_addresses = bool(self.parts[1].bufferDeviceAddress)

    def _queue_family(self) -> int:
        families = vk.vkGetPhysicalDeviceQueueFamilyProperties(self.physical)
        return next(i for i, family in enumerate(families) if family.queueFlags & vk.VK_QUEUE_COMPUTE_BIT)

    def _features(self) -> Any:
        names = ["VkPhysicalDeviceVulkan11Features", "VkPhysicalDeviceVulkan12Features",
                 "VkPhysicalDeviceVulkan13Features"]  # fmt: skip
        types = [vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                 vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                 vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES]  # fmt: skip
        if "VK_EXT_shader_atomic_float" in self.extensions:
            names.append("VkPhysicalDeviceShaderAtomicFloatFeaturesEXT")
            types.append(vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT)
        if "VK_EXT_mutable_descriptor_type" in self.extensions:
            names.append("VkPhysicalDeviceMutableDescriptorTypeFeaturesEXT")
            types.append(MUTABLE_FEATURES)
        if "VK_KHR_pipeline_executable_properties" in self.extensions:
            names.append("VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR")
            types.append(vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR)
        self.parts: list[Any] = []
        for name, kind in zip(names, types, strict=True):
            part = ffi.new(name + "*")
            part.sType = kind
            if self.parts:
                self.parts[-1].pNext = part
            self.parts.append(part)
        features = ffi.new("VkPhysicalDeviceFeatures2*")
        features.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2
        features.pNext = self.parts[0]
        lib.vkGetPhysicalDeviceFeatures2(self.physical, features)
        features.features.robustBufferAccess = 0
        self.parts[2].robustImageAccess = 0
        return features

    def describe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Say what device and driver this is, what it offers, and which operations subgroups have, as bits."""
        driver = ffi.new("VkPhysicalDeviceDriverProperties*")
        driver.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES
        properties = ffi.new("VkPhysicalDeviceVulkan11Properties*")
        properties.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES
        properties.pNext = driver
        whole = ffi.new("VkPhysicalDeviceProperties2*")
        whole.sType, whole.pNext = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, properties
        lib.vkGetPhysicalDeviceProperties2(self.physical, whole)
        version = " ".join(ffi.string(text).decode() for text in (driver.driverName, driver.driverInfo))
        return {"name": self.name, "driver": version, "extensions": self.extensions, "offered": sorted(self.offered),
                "subgroup_operations": properties.subgroupSupportedOperations}

    # Pipelines

    def _module(self, spirv: bytes) -> Any:
        words = ffi.from_buffer(spirv)
        info = ffi.new("VkShaderModuleCreateInfo*")
        info.sType = vk.VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO
        info.codeSize = len(spirv)
        info.pCode = ffi.cast("uint32_t*", words)
        module = ffi.new("VkShaderModule*")
        check(lib.vkCreateShaderModule(self.device, info, ffi.NULL, module))
        return module[0]

    def _layouts(self, request: dict[str, Any]) -> tuple[list[Any], Any, dict[tuple[int, int], Any]]:
        found = reflect(request["spirv"], request["spec"])
        if "layouts" in request:
            sets = [self._set_layout(layout) for layout in request["layouts"]]
            ranges = [vk.VkPushConstantRange(vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, request["push_bytes"])] if request["push_bytes"] else []
            info = vk.VkPipelineLayoutCreateInfo(pSetLayouts=sets, pPushConstantRanges=ranges)
            given = {(number, each["number"]): each["type"] for number, layout in enumerate(request["layouts"]) for each in layout}
            return sets, vk.vkCreatePipelineLayout(self.device, info, None), given
        bindings = {(binding.set, binding.binding): binding for binding in found.bindings}
        sets = []
        for number in range(max((key[0] for key in bindings), default=-1) + 1):
            entries = [
                vk.VkDescriptorSetLayoutBinding(
                    binding=key[1], descriptorType=DESCRIPTOR_TYPES[binding.kind],
                    descriptorCount=binding.count or 16, stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT,
                )
                for key, binding in sorted(bindings.items()) if key[0] == number
            ]  # fmt: skip
            info = vk.VkDescriptorSetLayoutCreateInfo(pBindings=entries)
            sets.append(vk.vkCreateDescriptorSetLayout(self.device, info, None))
        size = max(found.push_size, len(request.get("push", b"")))
        ranges = []
        if size:
            ranges = [vk.VkPushConstantRange(vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, (size + 3) // 4 * 4)]
        info = vk.VkPipelineLayoutCreateInfo(pSetLayouts=sets, pPushConstantRanges=ranges)
        return sets, vk.vkCreatePipelineLayout(self.device, info, None), bindings

    def _set_layout_info(self, layout: list[dict[str, Any]]) -> Any:
        """VkDescriptorSetLayoutCreateInfo of bindings that are given by number, type, count, samplers, mutable types, variable."""
        count = len(layout)
        bindings = ffi.new("VkDescriptorSetLayoutBinding[]", count)
        # RADV of Mesa 22.3 looks flags up by binding number, where Vulkan counts places: without gaps both are right, and where
        # numbers have gaps, it finds zeros behind the flags.
        places = max([count, *(each["number"] + 1 for each in layout)])
        flags = ffi.new("uint32_t[]", places)
        for place, each in enumerate(layout):
            flags[place] = vk.VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT if each["variable"] else 0
        lists = ffi.new("VkMutableDescriptorTypeListEXT[]", places)
        keep: list[Any] = [bindings, flags, lists]
        for binding, types, each in zip(bindings, lists, layout, strict=False):
            binding.binding, binding.descriptorType, binding.descriptorCount = each["number"], each["type"], each["count"]
            binding.stageFlags = vk.VK_SHADER_STAGE_COMPUTE_BIT
            if each["samplers"]:
                keep.append(ffi.new("VkSampler[]", [self._sampler(lod) for lod in each["samplers"]]))
                binding.pImmutableSamplers = keep[-1]
            keep.append(ffi.new("int[]", each["mutable"]))
            types.descriptorTypeCount = len(each["mutable"])
            types.pDescriptorTypes = ffi.cast("VkDescriptorType*", keep[-1])
        mutable = ffi.new("VkMutableDescriptorTypeCreateInfoEXT*")
        mutable.sType = MUTABLE_CREATE_INFO
        mutable.mutableDescriptorTypeListCount, mutable.pMutableDescriptorTypeLists = count, lists
        following = ffi.new("VkDescriptorSetLayoutBindingFlagsCreateInfo*")
        following.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO
        following.bindingCount, following.pBindingFlags, following.pNext = count, flags, mutable
        info = ffi.new("VkDescriptorSetLayoutCreateInfo*")
        info.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO
        info.bindingCount, info.pBindings, info.pNext = count, bindings, following
        return info, [*keep, mutable, following]

    def _set_layout(self, layout: list[dict[str, Any]]) -> Any:
        info, _keep = self._set_layout_info(layout)
        made = ffi.new("VkDescriptorSetLayout*")
        check(lib.vkCreateDescriptorSetLayout(self.device, info, ffi.NULL, made))
        return made[0]

    def _sampler(self, lod: int | dict[str, Any]) -> Any:
        """A sampler with nothing but a largest level of detail, or of all fields that ``vulkan_images.sampler`` takes."""
        if isinstance(lod, dict):
            return sampler(self.device, lod)
        if lod not in self.samplers:
            self.samplers[lod] = vk.vkCreateSampler(self.device, vk.VkSamplerCreateInfo(maxLod=float(lod)), None)
        return self.samplers[lod]

    def layout(self, request: dict[str, Any]) -> dict[str, Any]:
        """For each set layout: whether the driver supports it, and how many elements its variable binding may have."""
        call = ffi.cast("PFN_vkGetDescriptorSetLayoutSupport", lib.vkGetDeviceProcAddr(self.device, b"vkGetDescriptorSetLayoutSupport"))
        found = []
        for layout in request["layouts"]:
            info, _keep = self._set_layout_info(layout)
            count = ffi.new("VkDescriptorSetVariableDescriptorCountLayoutSupport*")
            count.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_LAYOUT_SUPPORT
            support = ffi.new("VkDescriptorSetLayoutSupport*")
            support.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_SUPPORT
            support.pNext = count
            # Where RADV of Mesa 22.3 looks for it.
            count_too = ffi.new("VkDescriptorSetVariableDescriptorCountLayoutSupport*")
            count_too.sType, count_too.pNext = count.sType, info.pNext
            info.pNext = count_too
            call(self.device, info, support)
            found.append((bool(support.supported), max(count.maxVariableDescriptorCount, count_too.maxVariableDescriptorCount)))
        return {"found": found}

    def buffer_features(self, request: dict[str, Any]) -> dict[str, Any]:
        """What buffers of each format can do, as bits."""
        return {"found": [vk.vkGetPhysicalDeviceFormatProperties(self.physical, number).bufferFeatures for number in request["formats"]]}

    def image_features(self, request: dict[str, Any]) -> dict[str, Any]:
        """What tiled images of each format can do, as bits."""
        return {"found": [vk.vkGetPhysicalDeviceFormatProperties(self.physical, number).optimalTilingFeatures for number in request["formats"]]}

    def set_memory(self, request: dict[str, Any]) -> dict[str, Any]:
        """Make a set of a layout, write buffers, samplers and inline blocks into it, and return the bytes that the driver wrote.

        The driver's memory is found by a mark in the first binding, an inline uniform block: one of the pointers in the set's own
        structure leads to it.
        """
        layout = self._set_layout(request["layout"])
        # The null winsys has no memory types, and gives any memory that is asked for the address 0.
        buffer = vk.vkCreateBuffer(self.device, vk.VkBufferCreateInfo(size=request["bytes"], usage=BUFFER_USAGE), None)
        memory = vk.vkAllocateMemory(self.device, vk.VkMemoryAllocateInfo(allocationSize=request["bytes"], memoryTypeIndex=0), None)
        vk.vkBindBufferMemory(self.device, buffer, memory, 0)
        sizes = ffi.new("VkDescriptorPoolSize[]", [(each["type"], max(each["count"], 1)) for each in request["layout"]])
        blocks = ffi.new("VkDescriptorPoolInlineUniformBlockCreateInfo*")
        blocks.sType = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO
        blocks.maxInlineUniformBlockBindings = len(request["layout"])
        info = ffi.new("VkDescriptorPoolCreateInfo*")
        info.sType, info.pNext = vk.VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, blocks
        info.maxSets, info.poolSizeCount, info.pPoolSizes = 1, len(request["layout"]), sizes
        pool = ffi.new("VkDescriptorPool*")
        check(lib.vkCreateDescriptorPool(self.device, info, ffi.NULL, pool))
        made = vk.vkAllocateDescriptorSets(self.device, vk.VkDescriptorSetAllocateInfo(descriptorPool=pool[0], pSetLayouts=[layout]))[0]
        for write in request["writes"]:
            self._write(made, write, buffer)
        handle = int(ffi.cast("uintptr_t", made))
        found = b""
        with open("/proc/self/mem", "rb", buffering=0) as own:
            for pointer in struct.unpack("<32Q", os.pread(own.fileno(), 256, handle)):
                try:
                    found = os.pread(own.fileno(), request["size"], pointer) if 4096 < pointer < 1 << 47 else b""
                except OSError:
                    continue
                if found[request["mark_at"] :].startswith(request["mark"]):
                    break
            else:
                raise RuntimeError("the set's memory was not found")
        vk.vkDestroyDescriptorPool(self.device, pool[0], None)
        vk.vkDestroyDescriptorSetLayout(self.device, layout, None)
        vk.vkDestroyBuffer(self.device, buffer, None)
        vk.vkFreeMemory(self.device, memory, None)
        return {"memory": found}

    def _write(self, made: Any, asked: dict[str, Any], buffer: Any) -> None:
        write = ffi.new("VkWriteDescriptorSet*")
        write.sType, write.dstSet, write.dstBinding = vk.VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, made, asked["number"]
        write.dstArrayElement, write.descriptorCount, write.descriptorType = asked["element"], 1, asked["type"]
        keep: Any
        if "data" in asked:
            keep = ffi.new("VkWriteDescriptorSetInlineUniformBlock*")
            keep.sType = vk.VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK
            data = ffi.from_buffer(asked["data"])
            keep.dataSize, keep.pData = len(asked["data"]), data
            write.pNext, write.descriptorCount = keep, len(asked["data"])
        elif "sampler" in asked:
            keep = ffi.new("VkDescriptorImageInfo*")
            keep.sampler = self._sampler(asked["sampler"])
            write.pImageInfo = keep
        elif "sampler_info" in asked:
            keep = ffi.new("VkDescriptorImageInfo*")
            keep.sampler = sampler(self.device, asked["sampler_info"])
            write.pImageInfo = keep
        elif "texels" in asked:
            keep = ffi.new("VkBufferView*", vk.vkCreateBufferView(self.device, vk.VkBufferViewCreateInfo(buffer=buffer, **asked["texels"]), None))
            write.pTexelBufferView = keep
        else:
            keep = ffi.new("VkDescriptorBufferInfo*")
            keep.buffer, (keep.offset, keep.range) = buffer, asked["buffer"]
            write.pBufferInfo = keep
        lib.vkUpdateDescriptorSets(self.device, 1, write, 0, ffi.NULL)

    def _specialisation(self, request: dict[str, Any]) -> Any:
        types = reflect(request["spirv"], request["spec"]).spec_types
        data, entries = b"", []
        for number, value in request["spec"].items():
            kind, bits = types.get(number, ("int", 32))
            if kind == "float":
                piece = struct.pack({16: "<e", 32: "<f", 64: "<d"}[bits], value)
            else:
                size = 4 if kind == "bool" else bits // 8
                piece = (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
            entries.append(vk.VkSpecializationMapEntry(number, len(data), len(piece)))
            data += piece
        self.keep = ffi.from_buffer(data)
        return vk.VkSpecializationInfo(pMapEntries=entries, dataSize=len(data), pData=self.keep)

    def _stage(self, request: dict[str, Any], module: Any) -> Any:
        following = None
        if request.get("wave"):
            following = ffi.new("VkPipelineShaderStageRequiredSubgroupSizeCreateInfo*")
            following.sType = vk.VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO
            following.requiredSubgroupSize = request["wave"]
        # The pipeline's description copies this structure and does not keep alive what it points to.
        self.stage = vk.VkPipelineShaderStageCreateInfo(
            pNext=following, stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName=request["entry"],
            pSpecializationInfo=self._specialisation(request) if request["spec"] else None,
        )  # fmt: skip
        self.following = following
        return self.stage

    def _create(self, info: Any) -> Any:
        pipeline = ffi.new("VkPipeline*")
        check(lib.vkCreateComputePipelines(self.device, ffi.NULL, 1, info, ffi.NULL, pipeline))
        return pipeline[0]

    def compile(self, request: dict[str, Any]) -> dict[str, Any]:
        """Create the pipeline with capture on; return statistics and representations."""
        module = self._module(request["spirv"])
        sets, layout, _ = self._layouts(request)
        info = vk.VkComputePipelineCreateInfo(flags=CAPTURE, stage=self._stage(request, module), layout=layout)
        pipeline = self._create(ffi.addressof(info))
        pointer = ffi.new("VkPipelineExecutableInfoKHR*")
        pointer.sType = vk.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR
        pointer.pipeline = pipeline
        result = {"statistics": self._statistics(pointer), "representations": self._representations(pointer)}
        self._destroy(pipeline, layout, sets, module)
        return result

    def cache_data(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a pipeline cache holds of the pipeline alone: with RADV, its code with the constant data behind it."""
        module = self._module(request["spirv"])
        sets, layout, _ = self._layouts(request)
        cache, size = ffi.new("VkPipelineCache*"), ffi.new("size_t*")
        check(lib.vkCreatePipelineCache(self.device, ffi.addressof(vk.VkPipelineCacheCreateInfo()), ffi.NULL, cache))
        info = vk.VkComputePipelineCreateInfo(stage=self._stage(request, module), layout=layout)
        pipeline = ffi.new("VkPipeline*")
        check(lib.vkCreateComputePipelines(self.device, cache[0], 1, ffi.addressof(info), ffi.NULL, pipeline))
        check(lib.vkGetPipelineCacheData(self.device, cache[0], size, ffi.NULL))
        data = ffi.new("char[]", size[0])
        check(lib.vkGetPipelineCacheData(self.device, cache[0], size, data))
        lib.vkDestroyPipelineCache(self.device, cache[0], ffi.NULL)
        self._destroy(pipeline[0], layout, sets, module)
        return {"data": bytes(ffi.buffer(data, size[0]))}

    def _query(self, function: str, kind: str, structure: int, pointer: Any, prepare: Any = None) -> Any:
        address = lib.vkGetDeviceProcAddr(self.device, function.encode())
        call = ffi.cast("PFN_" + function, address)
        count = ffi.new("uint32_t*")
        check(call(self.device, pointer, count, ffi.NULL))
        items = ffi.new(f"{kind}[{count[0]}]")
        for item in items:
            item.sType = structure
        check(call(self.device, pointer, count, items))
        if prepare is not None:
            keep = [prepare(item) for item in items]
            check(call(self.device, pointer, count, items))
            del keep
        return items

    def _statistics(self, pointer: Any) -> dict[str, int | float]:
        items = self._query(
            "vkGetPipelineExecutableStatisticsKHR", "VkPipelineExecutableStatisticKHR",
            vk.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR, pointer,
        )  # fmt: skip
        member = ("b32", "i64", "u64", "f64")
        return {ffi.string(item.name).decode(): getattr(item.value, member[item.format]) for item in items}

    def _representations(self, pointer: Any) -> dict[str, str]:
        keep: list[Any] = []

        def allocate(item: Any) -> None:
            keep.append(ffi.new("char[]", item.dataSize + 1))
            item.pData = keep[-1]

        items = self._query(
            "vkGetPipelineExecutableInternalRepresentationsKHR", "VkPipelineExecutableInternalRepresentationKHR",
            vk.VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR, pointer, allocate,
        )  # fmt: skip
        return {
            ffi.string(item.name).decode(): ffi.buffer(item.pData, item.dataSize)[:].split(b"\0")[0].decode()
            for item in items
        }

    def time(self, request: dict[str, Any]) -> dict[str, Any]:
        """Processor time of each of many creations of the same pipeline, in nanoseconds; with `calls`, what `CallTimes` takes, the nanoseconds of
        these calls in each."""
        module = self._module(request["spirv"])
        sets, layout, _ = self._layouts(request)
        info = vk.VkComputePipelineCreateInfo(stage=self._stage(request, module), layout=layout)
        pointer = ffi.addressof(info)
        pipeline = ffi.new("VkPipeline*")
        times: list[int] = []
        calls: list[dict[str, float]] = []
        counters = self._counters(request["calls"]) if request.get("calls") else None
        limit = time.monotonic() + request["seconds"]
        while len(times) < request["repetitions"] and (len(times) < request.get("least", 1) or time.monotonic() < limit):
            if counters:
                counters.start()
            start = time.thread_time_ns()
            status = lib.vkCreateComputePipelines(self.device, ffi.NULL, 1, pointer, ffi.NULL, pipeline)
            times.append(time.thread_time_ns() - start)
            if counters:
                calls.append({name: ticks * self.tick for name, ticks in counters.ticks().items()})
            check(status)
            lib.vkDestroyPipeline(self.device, pipeline[0], ffi.NULL)
        self._destroy(None, layout, sets, module)
        return {"times": times, "calls": calls}

    def _counters(self, asked: tuple[str, tuple[str, ...], dict[str, str]]) -> CallTimes:
        """Counters on calls of the driver: those of the first request that asked."""
        if self.counters is None:
            self.counters, self.tick = CallTimes(*asked), nanoseconds_of_tick()
        return self.counters

    def _destroy(self, pipeline: Any, layout: Any, sets: list[Any], module: Any) -> None:
        if pipeline is not None:
            vk.vkDestroyPipeline(self.device, pipeline, None)
        vk.vkDestroyPipelineLayout(self.device, layout, None)
        for each in sets:
            vk.vkDestroyDescriptorSetLayout(self.device, each, None)
        vk.vkDestroyShaderModule(self.device, module, None)

    # Dispatch

    def _memory_type(self, bits: int) -> int:
        wanted = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        types = vk.vkGetPhysicalDeviceMemoryProperties(self.physical).memoryTypes
        return next(i for i, kind in enumerate(types) if bits >> i & 1 and kind.propertyFlags & wanted == wanted)

    def _buffer(self, size: int) -> tuple[Any, Any, Any, int]:
        usage = BUFFER_USAGE | (ADDRESS_USAGE if self.has_addresses else 0)
        buffer = vk.vkCreateBuffer(self.device, vk.VkBufferCreateInfo(size=max(size, 4), usage=usage), None)
        need = vk.vkGetBufferMemoryRequirements(self.device, buffer)
        flags = None
        if self.has_addresses:
            flags = vk.VkMemoryAllocateFlagsInfo(flags=ADDRESS_ALLOCATION, deviceMask=0)
        allocation = vk.VkMemoryAllocateInfo(
            pNext=flags, allocationSize=need.size, memoryTypeIndex=self._memory_type(need.memoryTypeBits)
        )
        memory = vk.vkAllocateMemory(self.device, allocation, None)
        vk.vkBindBufferMemory(self.device, buffer, memory, 0)
        address = 0
        if self.has_addresses:
            info = ffi.new("VkBufferDeviceAddressInfo*")
            info.sType = vk.VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO
            info.buffer = buffer
            address = lib.vkGetBufferDeviceAddress(self.device, info)
        return buffer, memory, vk.vkMapMemory(self.device, memory, 0, need.size, 0), address

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Dispatch once; return the contents of every buffer afterwards."""
        module = self._module(request["spirv"])
        sets, layout, bindings = self._layouts(request)
        info = vk.VkComputePipelineCreateInfo(stage=self._stage(request, module), layout=layout)
        pipeline = self._create(ffi.addressof(info))
        buffers, contents, push = self._filled(request)
        images = Images(self, request.get("images", {}))
        pool, descriptors = self._descriptors(sets, bindings, buffers, contents, images)
        times = []
        for _ in range(request.get("repetitions", 1)):
            start = time.process_time()
            self._submit(pipeline, layout, descriptors, push, request["groups"])
            times.append(time.process_time() - start)
        result = {key: buffers[key][2][: len(data)] for key, data in contents.items()}
        for (place, offset), _ in request["references"].items():
            if place != "push":
                whole = bytearray(result[place])
                whole[offset : offset + 8] = request["buffers"][place][offset : offset + 8]
                result[place] = bytes(whole)
        written = images.contents()
        images.free()
        self._free(pool, list(buffers.values()))
        self._destroy(pipeline, layout, sets, module)
        return {"buffers": result, "times": times, "images": written}

    def blit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Blit between two images; return the levels of the destination."""
        images = Images(self, request["images"])
        images.blit("source", "destination", request["regions"], request["filter"])
        written = images.contents()
        images.free()
        return {"levels": written["destination"]}

    def _filled(self, request: dict[str, Any]) -> tuple[dict[Any, Any], dict[Any, bytearray], bytes]:
        """Buffers with the request's contents and addresses; the contents and the push constants with addresses in them."""
        buffers = {key: self._buffer(len(data)) for key, data in request["buffers"].items()}
        push = bytearray(request["push"])
        contents = {key: bytearray(data) for key, data in request["buffers"].items()}
        for (place, offset), name in request["references"].items():
            target = push if place == "push" else contents[place]
            target[offset : offset + 8] = struct.pack("<Q", buffers[name][3])
        for key, data in contents.items():
            buffers[key][2][: len(data)] = bytes(data)
        return buffers, contents, bytes(push)

    def _free(self, pool: Any, buffers: list[Any]) -> None:
        if pool is not None:
            vk.vkDestroyDescriptorPool(self.device, pool, None)
        for buffer, memory, _, _ in buffers:
            vk.vkUnmapMemory(self.device, memory)
            vk.vkDestroyBuffer(self.device, buffer, None)
            vk.vkFreeMemory(self.device, memory, None)

    def _descriptors(
        self, sets: list[Any], bindings: dict[Any, Any], buffers: dict[Any, Any], contents: dict[Any, Any], images: Images | None = None,
    ) -> tuple[Any, list[Any]]:
        if not sets:
            return None, []
        kinds = {key: each if isinstance(each, int) else DESCRIPTOR_TYPES[each.kind] for key, each in bindings.items()}
        sizes = [vk.VkDescriptorPoolSize(kind, 4096) for kind in {*DESCRIPTOR_TYPES.values(), *kinds.values()}]
        info = vk.VkDescriptorPoolCreateInfo(maxSets=len(sets), pPoolSizes=sizes)
        pool = vk.vkCreateDescriptorPool(self.device, info, None)
        allocated = vk.vkAllocateDescriptorSets(
            self.device, vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=sets)
        )
        writes = []
        for key in buffers:
            if isinstance(key, str) or key[:2] not in kinds:
                continue
            each = vk.VkDescriptorBufferInfo(buffer=buffers[key][0], offset=0, range=max(len(contents[key]), 4))
            writes.append(
                vk.VkWriteDescriptorSet(
                    dstSet=allocated[key[0]], dstBinding=key[1], dstArrayElement=key[2] if len(key) == 3 else 0,
                    descriptorType=kinds[key[:2]], pBufferInfo=[each],
                )
            )  # fmt: skip
        if images is not None:
            writes += images.writes(list(allocated), kinds)
        vk.vkUpdateDescriptorSets(self.device, len(writes), writes, 0, None)
        return pool, list(allocated)

    def _submit(self, pipeline: Any, layout: Any, descriptors: list[Any], push: bytes, groups: Any) -> None:
        commands = self._record(pipeline, layout, descriptors, push, groups)
        vk.vkQueueSubmit(self.queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[commands])], vk.VK_NULL_HANDLE)
        vk.vkQueueWaitIdle(self.queue)
        vk.vkFreeCommandBuffers(self.device, self.pool, 1, [commands])

    def _record(
        self, pipeline: Any, layout: Any, descriptors: list[Any], push: bytes, groups: Any, counts: Any = None
    ) -> Any:
        allocate = vk.VkCommandBufferAllocateInfo(
            commandPool=self.pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1
        )
        commands = vk.vkAllocateCommandBuffers(self.device, allocate)[0]
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        vk.vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, pipeline)
        if descriptors:
            vk.vkCmdBindDescriptorSets(
                commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, len(descriptors), descriptors, 0, None
            )
        if push:
            data = ffi.from_buffer(push)
            vk.vkCmdPushConstants(commands, layout, vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, len(push), data)
        if counts is None:
            vk.vkCmdDispatch(commands, *groups)
        else:
            vk.vkCmdDispatchIndirect(commands, counts, 0)
        vk.vkEndCommandBuffer(commands)
        return commands


def check(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"VkResult {status}")


def serve(source: BinaryIO, sink: BinaryIO, handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]]) -> None:
    """Answer pickled requests, each with a length before it, until the source ends."""
    while head := source.read(8):
        request = pickle.loads(source.read(struct.unpack("<Q", head)[0]))
        try:
            answer = handlers[request["operation"]](request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        data = pickle.dumps(answer)
        sink.write(struct.pack("<Q", len(data)) + data)
        sink.flush()


if __name__ == "__main__":
    faulthandler.enable()
    # Drivers print to standard output; keep the protocol on a descriptor of its own.
    protocol = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    device = Device()
    serve(sys.stdin.buffer, protocol, {"run": device.run, "compile": device.compile, "time": device.time, "layout": device.layout,
                                       "cache_data": device.cache_data, "set_memory": device.set_memory,
                                       "buffer_features": device.buffer_features, "image_features": device.image_features,
                                       "blit": device.blit,
                                       "describe": device.describe})
