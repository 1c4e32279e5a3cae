package container

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// object is a Kubernetes object, as far as pods are in it: a pod, a list, or one of the kinds that have a template of
// pods (Job, JobSet, StatefulSet, MPIJob, PyTorchJob; LeaderWorkerSet).
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec  spec     `json:"spec"`
	Items []object `json:"items"`
}

type spec struct {
	Node           string      `json:"nodeName"`
	HostNetwork    *bool       `json:"hostNetwork"`
	HostIPC        *bool       `json:"hostIPC"`
	Containers     []container `json:"containers"`
	Init           []container `json:"initContainers"`
	Volumes        []volume    `json:"volumes"`
	Template       *object     `json:"template"`
	JobTemplate    *object     `json:"jobTemplate"`
	Worker         *object     `json:"workerTemplate"`
	Leader         *object     `json:"leaderTemplate"`
	LeaderWorker   *spec       `json:"leaderWorkerTemplate"`
	ReplicatedJobs []struct {
		Name     string  `json:"name"`
		Template *object `json:"template"`
	} `json:"replicatedJobs"`
	MPI     map[string]replica `json:"mpiReplicaSpecs"`
	PyTorch map[string]replica `json:"pytorchReplicaSpecs"`
}

type replica struct {
	Template *object `json:"template"`
}

type container struct {
	Name     string `json:"name"`
	Security struct {
		Privileged   *bool `json:"privileged"`
		Capabilities struct {
			Add []string `json:"add"`
		} `json:"capabilities"`
	} `json:"securityContext"`
	Resources struct {
		Limits map[string]scalar `json:"limits"`
	} `json:"resources"`
	Env []struct {
		Name  string `json:"name"`
		Value scalar `json:"value"`
	} `json:"env"`
	Mounts []struct {
		Name string `json:"name"`
		Path string `json:"mountPath"`
	} `json:"volumeMounts"`
}

type volume struct {
	Name  string `json:"name"`
	Empty *struct {
		Medium string `json:"medium"`
		Limit  scalar `json:"sizeLimit"`
	} `json:"emptyDir"`
	Host *struct {
		Path string `json:"path"`
	} `json:"hostPath"`
}

// scalar is a text or a number: quantities may be either.
type scalar string

// UnmarshalJSON implements json.Unmarshaler.
func (s *scalar) UnmarshalJSON(text []byte) error {
	var quoted string
	if json.Unmarshal(text, &quoted) == nil {
		*s = scalar(quoted)
	} else if len(text) > 0 && strings.IndexByte("{[", text[0]) < 0 {
		*s = scalar(text)
	}
	return nil
}

// ReadKubernetes reads an object in JSON.
func ReadKubernetes(f *fragment.Fragment, text []byte, line int) error {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	o.walk(f, o.Metadata.Name, f.At(line), 0)
	return nil
}

// deepest is how far objects nest: a list of CronJobs has three levels.
const deepest = 8

// walk finds the pods in an object.
func (o *object) walk(f *fragment.Fragment, name string, at evidence.Source, depth int) {
	if depth > deepest {
		return
	}
	for i := range o.Items {
		o.Items[i].walk(f, o.Items[i].Metadata.Name, at, depth+1)
	}
	o.Spec.walk(f, name, o.Metadata.Annotations, at, depth)
}

func (s *spec) walk(f *fragment.Fragment, name string, annotations map[string]string, at evidence.Source, depth int) {
	for _, t := range []*object{s.Template, s.JobTemplate, s.Worker, s.Leader} {
		if t != nil {
			t.walk(f, name, at, depth+1)
		}
	}
	if s.LeaderWorker != nil && depth < deepest {
		s.LeaderWorker.walk(f, name, annotations, at, depth+1)
	}
	for _, j := range s.ReplicatedJobs {
		if j.Template != nil {
			j.Template.walk(f, name, at, depth+1)
		}
	}
	for _, group := range []map[string]replica{s.MPI, s.PyTorch} {
		for _, role := range slices.Sorted(maps.Keys(group)) {
			if t := group[role].Template; t != nil {
				t.walk(f, name+"/"+role, at, depth+1)
			}
		}
	}
	for i := range s.Containers {
		add(f, s.container(f, &s.Containers[i], name, annotations, at))
	}
}

// container brings one container to evidence. What the specification leaves out has the API's default: not privileged,
// no namespace of the host.
func (s *spec) container(f *fragment.Fragment, c *container, pod string, annotations map[string]string, at evidence.Source) evidence.Container {
	is := func(b *bool) evidence.Value[bool] { return evidence.Known(b != nil && *b, at) }
	e := evidence.Container{
		Pod: pod, Name: c.Name, Host: s.Node, HostNetwork: is(s.HostNetwork), HostIPC: is(s.HostIPC), Privileged: is(c.Security.Privileged),
		Capabilities: c.Security.Capabilities.Add, Networks: annotations["k8s.v1.cni.cncf.io/networks"], From: at,
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		if strings.Contains(name, "/") { // devices have a domain before their name; "cpu" and "memory" have none
			e.Resources = append(e.Resources, evidence.Resource{Name: name, Amount: string(c.Resources.Limits[name])})
		}
	}
	for _, v := range c.Env[:min(len(c.Env), maxVars)] {
		variable(f, v.Name, string(v.Value), s.Node, at)
	}
	e.ShmMounted = evidence.Known(false, at)
	for _, m := range c.Mounts {
		for _, v := range s.Volumes {
			if v.Name != m.Name {
				continue
			}
			switch {
			case v.Host != nil && strings.HasPrefix(v.Host.Path, "/dev/") && v.Host.Path != "/dev/shm":
				e.Devices = append(e.Devices, v.Host.Path)
			case m.Path == "/dev/shm" && (v.Host != nil || v.Empty != nil && v.Empty.Medium == "Memory"):
				e.ShmMounted = evidence.Known(true, at)
				e.Shm = shm(v, at)
			}
		}
	}
	return e
}

// shm is the limit of a volume at /dev/shm. Without one it is the memory limit of the pod, or half the node's memory.
func shm(v volume, at evidence.Source) evidence.Value[units.Bytes] {
	if v.Empty != nil && v.Empty.Limit != "" {
		if b, ok := quantity(string(v.Empty.Limit)); ok {
			return evidence.Known(b, at)
		}
	}
	return evidence.Missing[units.Bytes]("no sizeLimit", at)
}
