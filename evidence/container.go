package evidence

import "github.com/shunt-network/shunt/units"

// Container is what a pod's specification or docker inspect says of a container: which of the host it may see.
type Container struct {
	Pod, Name    string
	Host         string             // node it runs on; "" where not told
	HostNetwork  Value[bool]        //
	HostIPC      Value[bool]        // shares /dev/shm with the host
	Privileged   Value[bool]        //
	Shm          Value[units.Bytes] // limit of /dev/shm; missing where nothing sets one
	ShmMounted   Value[bool]        // a memory volume is mounted at /dev/shm
	Memlock      Value[string]      // "-1" or bytes
	Capabilities []string           // added ones: "IPC_LOCK"
	Devices      []string           // host devices it gets: "/dev/infiniband/uverbs0"
	Resources    []Resource         // limits that name devices: "nvidia.com/gpu", "rdma/hca"
	Networks     string             // k8s.v1.cni.cncf.io/networks
	From         Source
}

// Resource is one limit of a container.
type Resource struct{ Name, Amount string }
