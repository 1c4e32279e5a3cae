package evidence

// HardwareTable is a table in the chip of a switch: what is in it and what still fits. SONiC's crm show resources prints them under
// these names (sonic-utilities, crm/main.py): "acl_entry" by ACL table, "nexthop_group_member", "nexthop_group", "ipv4_route".
type HardwareTable struct {
	Name      string
	Table     string // ACL table, "" for what the switch has once
	Used      Value[int64]
	Available Value[int64]
	// Refused counts entries that did not fit, as the log of the switch has them, a line each.
	Refused Value[int64]
	From    Source
}

// Limit is how many entries fit; ok is false where it is not told.
func (r HardwareTable) Limit() (limit int64, ok bool) {
	used, ok1 := r.Used.Get()
	free, ok2 := r.Available.Get()
	return used + free, ok1 && ok2
}

// HardwareTable returns a table of the switch, made if it is not there yet. It holds until the next one is made.
func (s *Switch) HardwareTable(name, table string) *HardwareTable {
	for i := range s.Hardware {
		if s.Hardware[i].Name == name && s.Hardware[i].Table == table {
			return &s.Hardware[i]
		}
	}
	if len(s.Hardware) >= MaxPorts {
		return &HardwareTable{Name: name, Table: table}
	}
	s.Hardware = append(s.Hardware, HardwareTable{Name: name, Table: table})
	return &s.Hardware[len(s.Hardware)-1]
}
