package container

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/shunt-network/shunt/collect/fragment"
	"github.com/shunt-network/shunt/evidence"
	"github.com/shunt-network/shunt/units"
)

// ReadDocker reads docker inspect and podman inspect of containers (Docker Engine API, ContainerInspect).
func ReadDocker(f *fragment.Fragment, text []byte, line int) error {
	var list []struct {
		Name   string
		Config struct {
			Env []string
		}
		HostConfig struct {
			NetworkMode string
			IpcMode     string
			Privileged  bool
			ShmSize     int64
			CapAdd      []string
			Ulimits     []struct {
				Name string
				Soft int64
			}
			Devices []struct {
				PathOnHost string
			}
			DeviceRequests []struct {
				Driver string
				Count  int
			}
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	at := f.At(line)
	for _, d := range list {
		h := d.HostConfig
		c := evidence.Container{
			Name: strings.TrimPrefix(d.Name, "/"), Host: f.Host, HostNetwork: evidence.Known(h.NetworkMode == "host", at), HostIPC: evidence.Known(h.IpcMode == "host", at),
			Privileged: evidence.Known(h.Privileged, at), Capabilities: h.CapAdd, From: at,
		}
		if h.ShmSize > 0 {
			c.Shm = evidence.Known(units.Bytes(h.ShmSize), at)
		}
		for _, u := range h.Ulimits {
			if u.Name == "memlock" {
				c.Memlock = evidence.Known(strconv.FormatInt(u.Soft, 10), at)
			}
		}
		for _, dev := range h.Devices {
			c.Devices = append(c.Devices, dev.PathOnHost)
		}
		for _, r := range h.DeviceRequests {
			c.Resources = append(c.Resources, evidence.Resource{Name: "gpu", Amount: strconv.Itoa(r.Count)}) // -1 is all of them
		}
		for _, v := range d.Config.Env[:min(len(d.Config.Env), maxVars)] {
			if name, value, ok := strings.Cut(v, "="); ok {
				variable(f, name, value, f.Host, at)
			}
		}
		add(f, c)
	}
	return nil
}
