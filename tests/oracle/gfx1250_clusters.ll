; Clusters of workgroups, for test_emu_gfx1250.py: of two by two workgroups, and of any number that the launch chooses.
target triple = "amdgcn-amd-amdhsa"

declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare i32 @llvm.amdgcn.cluster.id.x()
declare i32 @llvm.amdgcn.cluster.workgroup.id.x()
declare i32 @llvm.amdgcn.cluster.workgroup.id.y()
declare i32 @llvm.amdgcn.cluster.workgroup.flat.id()
declare i32 @llvm.amdgcn.cluster.workgroup.max.flat.id()
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.cluster.barrier()
declare i32 @llvm.amdgcn.cluster.load.b32(ptr addrspace(1), i32 immarg, i32)

; out[4 * group + i] = the workgroup's number in its cluster and that of the last, its cluster in x, its place in y; a grid of four in x
define void @places(ptr addrspace(1) %out) alwaysinline {
  %x = call i32 @llvm.amdgcn.workgroup.id.x()
  %y = call i32 @llvm.amdgcn.workgroup.id.y()
  %row = shl i32 %y, 2
  %group = add i32 %row, %x
  %word = shl i32 %group, 2
  %place = getelementptr i32, ptr addrspace(1) %out, i32 %word
  %flat = call i32 @llvm.amdgcn.cluster.workgroup.flat.id()
  %last = call i32 @llvm.amdgcn.cluster.workgroup.max.flat.id()
  %id = call i32 @llvm.amdgcn.cluster.id.x()
  %inner = call i32 @llvm.amdgcn.cluster.workgroup.id.y()
  %second = getelementptr i32, ptr addrspace(1) %place, i32 1
  %third = getelementptr i32, ptr addrspace(1) %place, i32 2
  %fourth = getelementptr i32, ptr addrspace(1) %place, i32 3
  store i32 %flat, ptr addrspace(1) %place
  store i32 %last, ptr addrspace(1) %second
  store i32 %id, ptr addrspace(1) %third
  store i32 %inner, ptr addrspace(1) %fourth
  ret void
}

define amdgpu_kernel void @two_by_two(ptr addrspace(1) %out) "amdgpu-cluster-dims"="2,2,1" {
  call void @places(ptr addrspace(1) %out)
  ret void
}

define amdgpu_kernel void @any_number(ptr addrspace(1) %out) "amdgpu-cluster-dims"="1024,1024,1024" {
  call void @places(ptr addrspace(1) %out)
  ret void
}

; Workgroups of a line of clusters store in[own], meet, and out[own] becomes what the last of the cluster has stored.
define amdgpu_kernel void @meet(ptr addrspace(1) %in, ptr addrspace(1) %held, ptr addrspace(1) %out) "amdgpu-cluster-dims"="4,1,1"
    "amdgpu-flat-work-group-size"="64,64" {
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %first = shl i32 %group, 6
  %own = add i32 %first, %item
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %own
  %value = call i32 @llvm.amdgcn.cluster.load.b32(ptr addrspace(1) %from, i32 0, i32 15)
  %to = getelementptr i32, ptr addrspace(1) %held, i32 %own
  store i32 %value, ptr addrspace(1) %to
  fence syncscope("cluster") release
  call void @llvm.amdgcn.s.cluster.barrier()
  fence syncscope("cluster") acquire
  %leader = or i32 %group, 3
  %base = shl i32 %leader, 6
  %other = add i32 %base, %item
  %there = getelementptr i32, ptr addrspace(1) %held, i32 %other
  %found = load i32, ptr addrspace(1) %there
  %result = getelementptr i32, ptr addrspace(1) %out, i32 %own
  store i32 %found, ptr addrspace(1) %result
  ret void
}
