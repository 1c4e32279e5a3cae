package container

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
)

const podYAML = `apiVersion: v1
kind: Pod
metadata:
  name: trainer-0
  annotations:
    k8s.v1.cni.cncf.io/networks: sriov-a,sriov-b
spec:
  nodeName: node1
  hostNetwork: true
  containers:
  - name: main
    env:
    - name: NCCL_IB_GID_INDEX
      value: "3"
    - name: HOME
      value: /root
    resources:
      limits:
        cpu: 8
        nvidia.com/gpu: 8
        rdma/hca: "1"
    securityContext:
      capabilities:
        add: [IPC_LOCK]
    volumeMounts:
    - mountPath: /dev/shm
      name: shm
    - mountPath: /dev/infiniband
      name: ib
  volumes:
  - name: shm
    emptyDir:
      medium: Memory
      sizeLimit: 64Gi
  - name: ib
    hostPath:
      path: /dev/infiniband
`

const podJSON = `{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod","metadata":{"name":"trainer-0","annotations":{"k8s.v1.cni.cncf.io/networks":"sriov-a,sriov-b"}},
"spec":{"nodeName":"node1","hostNetwork":true,"containers":[{"name":"main","env":[{"name":"NCCL_IB_GID_INDEX","value":"3"}],"resources":{"limits":{"cpu":8,"nvidia.com/gpu":8,"rdma/hca":"1"}},
"securityContext":{"capabilities":{"add":["IPC_LOCK"]}},"volumeMounts":[{"mountPath":"/dev/shm","name":"shm"},{"mountPath":"/dev/infiniband","name":"ib"}]}],
"volumes":[{"name":"shm","emptyDir":{"medium":"Memory","sizeLimit":"64Gi"}},{"name":"ib","hostPath":{"path":"/dev/infiniband"}}]}}]}`

func yamlOf(t testing.TB, text string) *evidence.Inventory {
	t.Helper()
	inv := &evidence.Inventory{}
	m := NewManifest(fragment.New(inv, "f"))
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		m.Line([]byte(line), n)
	}
	m.End()
	return inv
}

func show(inv *evidence.Inventory) (out []string) {
	for _, c := range inv.Containers {
		out = append(out, fmt.Sprint(c.Pod, "/", c.Name, " on ", c.Host, " net ", c.HostNetwork, " ipc ", c.HostIPC, " priv ", c.Privileged, " shm ", c.Shm, " ", c.ShmMounted, " ", c.Capabilities, c.Devices, c.Resources, " ", c.Networks, " ", c.Memlock))
	}
	for _, v := range inv.NCCL.Env {
		out = append(out, v.Name+"="+v.Value+" on "+v.Host)
	}
	return out
}

// JSON and YAML say the same.
func TestPod(t *testing.T) {
	want := []string{"trainer-0/main on node1 net true ipc false priv false shm 64GiB true [IPC_LOCK] [/dev/infiniband] [{nvidia.com/gpu 8} {rdma/hca 1}] sriov-a,sriov-b unknown", "NCCL_IB_GID_INDEX=3 on node1"}
	if diff := cmp.Diff(want, show(yamlOf(t, podYAML))); diff != "" {
		t.Errorf("YAML: %s", diff)
	}
	inv := &evidence.Inventory{}
	if err := ReadKubernetes(fragment.New(inv, "f"), []byte(podJSON), 1); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, show(inv)); diff != "" {
		t.Errorf("JSON: %s", diff)
	}
}

// Pods stand in templates, and several documents in one file; what one has too little of costs the others nothing.
func TestTemplates(t *testing.T) {
	inv := yamlOf(t, `apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: bench}
spec:
  mpiReplicaSpecs:
    Worker:
      template:
        spec:
          containers:
          - name: w
            securityContext: {privileged: true}
            volumeMounts: [{name: s, mountPath: /dev/shm}]
          volumes: [{name: s, emptyDir: {medium: Memory}}]
    Launcher:
      template:
        spec:
          containers: [{name: l}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: broken
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: set}
spec:
  template:
    spec:
      containers: [{name: a}]
`)
	want := []string{
		"bench/Launcher/l on  net false ipc false priv false shm unknown false [] [] []  unknown",
		"bench/Worker/w on  net false ipc false priv true shm unknown (no sizeLimit) true [] [] []  unknown",
		"set/a on  net false ipc false priv false shm unknown false [] [] []  unknown",
	}
	if diff := cmp.Diff(want, show(inv)); diff != "" {
		t.Error(diff)
	}
	if len(inv.Unreadable) != 1 || inv.Unreadable[0].From.Line != 19 {
		t.Errorf("%+v", inv.Unreadable)
	}
}

func TestDocker(t *testing.T) {
	inv := &evidence.Inventory{}
	f := fragment.New(inv, "f")
	f.Host = "node1"
	err := ReadDocker(f, []byte(`[{"Id":"0a","Name":"/trainer","Config":{"Env":["NCCL_DEBUG=INFO","PATH=/bin"]},"HostConfig":{"NetworkMode":"host","IpcMode":"private","Privileged":false,"ShmSize":67108864,"CapAdd":["IPC_LOCK"],"Ulimits":[{"Name":"memlock","Hard":-1,"Soft":-1}],"Devices":[{"PathOnHost":"/dev/infiniband/uverbs0"}],"DeviceRequests":[{"Driver":"","Count":-1}]}}]`), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/trainer on node1 net true ipc false priv false shm 64MiB unknown [IPC_LOCK] [/dev/infiniband/uverbs0] [{gpu -1}]  -1", "NCCL_DEBUG=INFO on node1"}
	if diff := cmp.Diff(want, show(inv)); diff != "" {
		t.Error(diff)
	}
}

func TestQuantity(t *testing.T) {
	for s, want := range map[string]int64{"64Gi": 64 << 30, "1G": 1e9, "1048576": 1 << 20, "1.5Ki": 1536, "x": -1, "": -1, "-1": -1, "9e99": -1} {
		b, ok := quantity(s)
		if ok != (want >= 0) || ok && int64(b) != want {
			t.Errorf("%q: %d, %v", s, b, ok)
		}
	}
}

func FuzzAll(f *testing.F) {
	f.Add(podYAML)
	f.Add(podJSON)
	f.Add("apiVersion: v1\na: &x [*x]\nb: {<<: *x}\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		yamlOf(t, text)
		fr := fragment.New(&evidence.Inventory{}, "f")
		_, _ = ReadKubernetes(fr, []byte(text), 1), ReadDocker(fr, []byte(text), 1) // an error is one of the answers
	})
}
