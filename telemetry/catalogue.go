package telemetry

// Kind tells how the samples of a series are read.
type Kind uint8

// Kinds of series.
const (
	Counter Kind = iota // only grows, but for resets
	Gauge               // a level
)

// Scope is what a series is about, and so what its Key.Object names.
type Scope uint8

// Scopes.
const (
	NICPort     Scope = iota // "host3/mlx5_0"
	SwitchPort               // "leaf1/Ethernet48"
	WholeSwitch              // "leaf1"
)

func (s Scope) String() string { return [...]string{"NIC port", "switch port", "switch"}[s] }

// SeriesID names a series of the catalogue.
type SeriesID uint16

// Source is one real counter a series is read from. {p} in Counter stands for the priority, Scale turns the
// counter's unit into the series' unit.
type Source struct {
	System  string // "ethtool -S (mlx5_core)", "sysfs hw_counters (mlx5_ib)", "SAI"
	Counter string
	Scale   float64
}

// Series is one entry of the catalogue.
type Series struct {
	Name        string // as Prometheus users expect it: _total, _bytes, _seconds
	Unit        string
	Kind        Kind
	Scope       Scope
	PerPriority bool
	Meaning     string
	Sources     []Source
}

// The series of the catalogue. The order is part of no format; names are.
const (
	NICTxBytes SeriesID = iota
	NICRxBytes
	NICRxPause
	NICRxPauseTime
	NICTxPause
	NICTxPauseTime
	NICRxGlobalPause
	NICRxGlobalPauseTime
	NICTxGlobalPause
	NICTxGlobalPauseTime
	NICRxDiscards
	NICRxOutOfBuffer
	NICRxCRCErrors
	NICRxSymbolErrors
	NICRxFECUncorrectable
	NICLinkDowns
	NICSpeed
	NICOutOfSequence
	NICDuplicateRequest
	NICPacketSeqErr
	NICLocalAckTimeout
	NICRetryExceeded
	NICRNRNak
	NICCNPSent
	NICCNPHandled
	NICECNMarked
	NICPCIStalledWrite
	SwitchTxBytes
	SwitchRxBytes
	SwitchQueueBytes
	SwitchQueuePeak
	SwitchECNMarked
	SwitchDropped
	SwitchPFCRx
	SwitchPFCTx
	SwitchPFCRxTime
	SwitchRxErrors
	SwitchLinkDowns
	SwitchSpeed
	NICPortTxBytes
	NICPortRxBytes
	NICTxDiscards
	NICTxWait
	NICRxErrors
	NICLinkRecoveries
	NICTxPauseStorms
	NICRxPriorityDiscards
	SwitchPFCStorms
	SwitchPFCStormsEnded
	SwitchPFCStormDrops
	NICRxFECCorrected
	NICRxBits
	NICRxCorrectedBits
	NICRxOversize
	NICRxBufferHigh
	NICLinkFaults
	NICModuleHighTemp
	NICModuleUnplugged
	NICModuleBad
	NICPCIStalledRead
	NICPCIStalledWriteShare
	NICPCIStalledReadShare
	NICPCIBufferOverflow
	NICPCISignal
	NICRDMATxBytes
	NICRDMARxBytes
	NICRDMARxDiscards
	NICRDMARxErrors
	NICRetransmits
	NICUnresponsivePeers
	NICImpairedPeers
	NICImpliedNAK
	NICAdaptiveRetrans
	NICAdaptiveTimeouts
	NICSlowRestarts
	NICCNPIgnored
	NICReqRemoteAccess
	NICReqRemoteInvalid
	NICRespRemoteAccess
	NICRespLength
	NICReqCQEErrors
	NICRespCQEErrors
	SwitchTxPackets
	SwitchTxRate
	SwitchQueueDropped
	SwitchFECUncorrectable
	SwitchPortTxBytes
	SwitchRules
	SwitchRulesFree
	SeriesCount
)

// Systems a series can be read from.
const (
	EthtoolMLX5 = "ethtool -S (mlx5_core)"
	EthtoolBNXT = "ethtool -S (bnxt_en)"
	EthtoolICE  = "ethtool -S (ice)"
	EthtoolFEC  = "ethtool -I --show-fec"
	HWCounters  = "sysfs hw_counters (mlx5_ib)"
	HWBNXT      = "sysfs hw_counters (bnxt_re)"
	HWIRDMA     = "sysfs hw_counters (irdma)"
	HWEFA       = "sysfs hw_counters (efa)"
	IBCounters  = "sysfs ports/N/counters"
	SAI         = "SAI statistics (SONiC COUNTERS_DB)"
	Netdev      = "sysfs net/DEV"

	SONiCWatchdog = "PFC watchdog (SONiC COUNTERS_DB)"

	SONiCCRM = "CRM:STATS and CRM:ACL_STATS (SONiC COUNTERS_DB)"

	SFlow = "sFlow if_counters" // sflow_version_5.txt, section 5.3; the fields are IF-MIB's
)

// Catalogue lists every series by id. Counter names: kernel doc networking/device_drivers/ethernet/mellanox/
// mlx5/counters.rst; drivers/infiniband/hw/{mlx5,bnxt_re,irdma,efa} counter tables; ethtool netlink/fec.c; SAI saiport.h and saiqueue.h;
// Documentation/ABI/stable/sysfs-class-infiniband (port_*_data count words of four bytes); sonic-utilities pfcwd;
// sonic-swss orchagent/crmorch.cpp.
var Catalogue = [SeriesCount]Series{
	NICTxBytes: {"nic_tx_bytes_total", "bytes", Counter, NICPort, true, "bytes sent in the priority",
		[]Source{{EthtoolMLX5, "tx_prio{p}_bytes", 1}, {EthtoolBNXT, "tx_bytes_pri{p}", 1}}},
	NICRxBytes: {"nic_rx_bytes_total", "bytes", Counter, NICPort, true, "bytes received in the priority",
		[]Source{{EthtoolMLX5, "rx_prio{p}_bytes", 1}, {EthtoolBNXT, "rx_bytes_pri{p}", 1}}},
	NICRxPause: {"nic_rx_pause_total", "frames", Counter, NICPort, true, "PFC pauses received: the peer told this NIC to stop",
		[]Source{{EthtoolMLX5, "rx_prio{p}_pause", 1}, {EthtoolBNXT, "rx_pfc_ena_frames_pri{p}", 1}, {EthtoolICE, "rx_priority_{p}_xoff.nic", 1}}},
	NICRxPauseTime: {"nic_rx_pause_seconds_total", "seconds", Counter, NICPort, true, "time this NIC was paused in the priority",
		[]Source{{EthtoolMLX5, "rx_prio{p}_pause_duration", 1e-6}, {EthtoolBNXT, "pfc_pri{p}_rx_duration_us", 1e-6}}},
	NICTxPause: {"nic_tx_pause_total", "frames", Counter, NICPort, true, "PFC pauses sent: this host told the switch to stop",
		[]Source{{EthtoolMLX5, "tx_prio{p}_pause", 1}, {EthtoolBNXT, "tx_pfc_ena_frames_pri{p}", 1}, {EthtoolICE, "tx_priority_{p}_xoff.nic", 1}}},
	NICTxPauseTime: {"nic_tx_pause_seconds_total", "seconds", Counter, NICPort, true, "time this host held the switch paused in the priority",
		[]Source{{EthtoolMLX5, "tx_prio{p}_pause_duration", 1e-6}, {EthtoolBNXT, "pfc_pri{p}_tx_duration_us", 1e-6}}},
	NICRxGlobalPause: {"nic_rx_global_pause_total", "frames", Counter, NICPort, false, "802.3x pauses received (all priorities at once)",
		[]Source{{EthtoolMLX5, "rx_global_pause", 1}, {EthtoolBNXT, "rx_pause_frames", 1}, {EthtoolICE, "link_xoff_rx.nic", 1}}},
	NICRxGlobalPauseTime: {"nic_rx_global_pause_seconds_total", "seconds", Counter, NICPort, false, "time this NIC was paused by 802.3x",
		[]Source{{EthtoolMLX5, "rx_global_pause_duration", 1e-6}}},
	NICTxGlobalPause: {"nic_tx_global_pause_total", "frames", Counter, NICPort, false, "802.3x pauses sent",
		[]Source{{EthtoolMLX5, "tx_global_pause", 1}, {EthtoolBNXT, "tx_pause_frames", 1}, {EthtoolICE, "link_xoff_tx.nic", 1}}},
	NICTxGlobalPauseTime: {"nic_tx_global_pause_seconds_total", "seconds", Counter, NICPort, false, "time this host held its peer paused by 802.3x",
		[]Source{{EthtoolMLX5, "tx_global_pause_duration", 1e-6}}},
	NICRxDiscards: {"nic_rx_discards_total", "packets", Counter, NICPort, false, "packets dropped for lack of port buffer",
		[]Source{{EthtoolMLX5, "rx_discards_phy", 1}, {EthtoolBNXT, "rx_stat_discard", 1}}},
	NICRxOutOfBuffer: {"nic_rx_out_of_buffer_total", "packets", Counter, NICPort, false, "packets without a posted receive buffer: the host's software is slow, nothing was lost on the wire",
		[]Source{{EthtoolMLX5, "rx_out_of_buffer", 1}, {HWCounters, "out_of_buffer", 1}}},
	NICRxCRCErrors: {"nic_rx_crc_errors_total", "frames", Counter, NICPort, false, "frames with a wrong check sequence",
		[]Source{{EthtoolMLX5, "rx_crc_errors_phy", 1}, {EthtoolBNXT, "rx_fcs_err_frames", 1}, {EthtoolICE, "rx_crc_errors.nic", 1}}},
	NICRxSymbolErrors: {"nic_rx_symbol_errors_total", "symbols", Counter, NICPort, false, "symbols in error that FEC did not mend",
		[]Source{{EthtoolMLX5, "rx_symbol_err_phy", 1}, {EthtoolMLX5, "rx_pcs_symbol_err_phy", 1}, {EthtoolBNXT, "rx_pcs_symbol_err", 1}, {IBCounters, "symbol_error", 1}}},
	NICRxFECUncorrectable: {"nic_rx_fec_uncorrectable_total", "blocks", Counter, NICPort, false, "FEC blocks that could not be corrected",
		[]Source{{EthtoolBNXT, "rx_fec_uncorrectable_blocks", 1}, {EthtoolFEC, "uncorrectable_blocks", 1}}},
	NICLinkDowns: {"nic_link_downs_total", "events", Counter, NICPort, false, "times the link went down",
		[]Source{{EthtoolMLX5, "link_down_events_phy", 1}, {EthtoolBNXT, "link_down_events", 1}, {IBCounters, "link_downed", 1}}},
	NICSpeed: {"nic_speed_bits_per_second", "bit/s", Gauge, NICPort, false, "speed the link runs at",
		[]Source{{Netdev, "speed", 1e6}, {"sysfs infiniband ports/N", "rate", 1e9}}},
	NICOutOfSequence: {"nic_out_of_sequence_total", "packets", Counter, NICPort, false, "receiver: RoCE packets that were not the expected one",
		[]Source{{HWCounters, "out_of_sequence", 1}, {HWBNXT, "oos_drop_count", 1}}},
	NICDuplicateRequest: {"nic_duplicate_request_total", "packets", Counter, NICPort, false, "receiver: requests it had already",
		[]Source{{HWCounters, "duplicate_request", 1}, {HWBNXT, "dup_req", 1}}},
	NICPacketSeqErr: {"nic_packet_seq_err_total", "NAKs", Counter, NICPort, false, "sender: NAKs for a sequence error",
		[]Source{{HWCounters, "packet_seq_err", 1}, {HWBNXT, "seq_err_naks_rcvd", 1}}},
	NICLocalAckTimeout: {"nic_local_ack_timeout_total", "timeouts", Counter, NICPort, false, "sender: acknowledgements that did not come in time",
		[]Source{{HWCounters, "local_ack_timeout_err", 1}, {HWBNXT, "to_retransmits", 1}, {HWEFA, "retrans_timeout_events", 1}}},
	NICRetryExceeded: {"nic_retry_exceeded_total", "QPs", Counter, NICPort, false, "sender: QPs that gave up after the last retry",
		[]Source{{HWCounters, "req_transport_retries_exceeded", 1}, {HWBNXT, "max_retry_exceeded", 1}}},
	NICRNRNak: {"nic_rnr_nak_retry_total", "NAKs", Counter, NICPort, false, "sender: receiver-not-ready retries used up",
		[]Source{{HWCounters, "rnr_nak_retry_err", 1}, {HWBNXT, "rnr_naks_rcvd", 1}}},
	NICCNPSent: {"nic_cnp_sent_total", "packets", Counter, NICPort, false, "receiver: congestion notifications sent",
		[]Source{{HWCounters, "np_cnp_sent", 1}, {HWIRDMA, "cnpSent", 1}}},
	NICCNPHandled: {"nic_cnp_handled_total", "packets", Counter, NICPort, false, "sender: congestion notifications obeyed",
		[]Source{{HWCounters, "rp_cnp_handled", 1}, {HWIRDMA, "cnpHandled", 1}}},
	NICECNMarked: {"nic_ecn_marked_total", "packets", Counter, NICPort, false, "receiver: RoCE packets that arrived with CE set",
		[]Source{{HWCounters, "np_ecn_marked_roce_packets", 1}, {HWIRDMA, "RxECNMrkd", 1}}},
	NICPCIStalledWrite: {"nic_pci_stalled_write_events_total", "events", Counter, NICPort, false, "seconds in which the NIC waited for PCIe write credits more than 30 % of the time",
		[]Source{{EthtoolMLX5, "outbound_pci_stalled_wr_events", 1}}},
	SwitchTxBytes: {"switch_queue_tx_bytes_total", "bytes", Counter, SwitchPort, true, "bytes sent from the queue of the priority",
		[]Source{{SAI, "SAI_QUEUE_STAT_BYTES", 1}}},
	SwitchRxBytes: {"switch_port_rx_bytes_total", "bytes", Counter, SwitchPort, false, "bytes received",
		[]Source{{SAI, "SAI_PORT_STAT_IF_IN_OCTETS", 1}, {SFlow, "ifInOctets", 1}}},
	SwitchQueueBytes: {"switch_queue_bytes", "bytes", Gauge, SwitchPort, true, "egress queue",
		[]Source{{SAI, "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", 1}}},
	SwitchQueuePeak: {"switch_queue_peak_bytes", "bytes", Gauge, SwitchPort, true, "largest egress queue since it was last read",
		[]Source{{SAI, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", 1}}},
	SwitchECNMarked: {"switch_queue_ecn_marked_total", "packets", Counter, SwitchPort, true, "packets marked in the egress queue",
		[]Source{{SAI, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", 1}}},
	SwitchDropped: {"switch_port_dropped_total", "packets", Counter, SwitchPort, false, "packets dropped for lack of buffer",
		[]Source{{SAI, "SAI_QUEUE_STAT_DROPPED_PACKETS", 1}, {SAI, "SAI_PORT_STAT_IN_DROPPED_PKTS", 1}, {SFlow, "ifOutDiscards", 1}, {SFlow, "ifInDiscards", 1}}},
	SwitchPFCRx: {"switch_pfc_rx_total", "frames", Counter, SwitchPort, true, "PFC pauses received: the peer of this port told it to stop",
		[]Source{{SAI, "SAI_PORT_STAT_PFC_{p}_RX_PKTS", 1}}},
	SwitchPFCTx: {"switch_pfc_tx_total", "frames", Counter, SwitchPort, true, "PFC pauses sent: this switch told the peer to stop",
		[]Source{{SAI, "SAI_PORT_STAT_PFC_{p}_TX_PKTS", 1}}},
	SwitchPFCRxTime: {"switch_pfc_rx_pause_seconds_total", "seconds", Counter, SwitchPort, true, "time this port was paused in the priority",
		[]Source{{SAI, "SAI_PORT_STAT_PFC_{p}_RX_PAUSE_DURATION_US", 1e-6}}},
	SwitchRxErrors: {"switch_port_rx_errors_total", "frames", Counter, SwitchPort, false, "frames received damaged",
		[]Source{{SAI, "SAI_PORT_STAT_IF_IN_ERRORS", 1}, {SFlow, "ifInErrors", 1}}},
	SwitchLinkDowns: {"switch_port_link_downs_total", "events", Counter, SwitchPort, false, "times the link went down",
		[]Source{{"SONiC STATE_DB PORT_TABLE", "flap_count", 1}}},
	SwitchSpeed: {"switch_port_speed_bits_per_second", "bit/s", Gauge, SwitchPort, false, "speed the link runs at",
		[]Source{{SAI, "SAI_PORT_ATTR_OPER_SPEED", 1e6}, {SFlow, "ifSpeed", 1}}},
	NICPortTxBytes: {"nic_port_tx_bytes_total", "bytes", Counter, NICPort, false, "bytes sent, all priorities",
		[]Source{{EthtoolMLX5, "tx_bytes_phy", 1}, {IBCounters, "port_xmit_data", 4}}},
	NICPortRxBytes: {"nic_port_rx_bytes_total", "bytes", Counter, NICPort, false, "bytes received, all priorities",
		[]Source{{EthtoolMLX5, "rx_bytes_phy", 1}, {IBCounters, "port_rcv_data", 4}}},
	NICTxDiscards: {"nic_tx_discards_total", "packets", Counter, NICPort, false, "packets dropped before they were sent: the link was down or stood too long",
		[]Source{{EthtoolMLX5, "tx_discards_phy", 1}, {EthtoolBNXT, "tx_stat_discard", 1}, {IBCounters, "port_xmit_discards", 1}}},
	NICTxWait: {"nic_tx_wait_ticks_total", "ticks", Counter, NICPort, false, "ticks with data to send and no credit from the peer (InfiniBand)",
		[]Source{{IBCounters, "port_xmit_wait", 1}}},
	NICRxErrors: {"nic_rx_errors_total", "packets", Counter, NICPort, false, "packets received damaged (InfiniBand)",
		[]Source{{IBCounters, "port_rcv_errors", 1}}},
	NICLinkRecoveries: {"nic_link_recoveries_total", "events", Counter, NICPort, false, "times the link retrained without going down (InfiniBand)",
		[]Source{{IBCounters, "link_error_recovery", 1}}},
	NICTxPauseStorms: {"nic_tx_pause_storms_total", "events", Counter, NICPort, false, "times this NIC kept its peer paused for longer than its watchdog allows",
		[]Source{{EthtoolMLX5, "tx_pause_storm_warning_events", 1}, {EthtoolMLX5, "tx_pause_storm_error_events", 1}}},
	NICRxPriorityDiscards: {"nic_rx_priority_discards_total", "packets", Counter, NICPort, true, "packets of the priority dropped for lack of receive buffer",
		[]Source{{EthtoolMLX5, "rx_prio{p}_discards", 1}, {EthtoolBNXT, "rx_discard_packets_cos{p}", 1}}},
	SwitchPFCStorms: {"switch_pfc_storms_total", "events", Counter, SwitchPort, true, "times the PFC watchdog found the queue paused for too long",
		[]Source{{SONiCWatchdog, "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", 1}}},
	SwitchPFCStormsEnded: {"switch_pfc_storms_ended_total", "events", Counter, SwitchPort, true, "times the PFC watchdog put the queue back into service",
		[]Source{{SONiCWatchdog, "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", 1}}},
	SwitchPFCStormDrops: {"switch_pfc_storm_dropped_total", "packets", Counter, SwitchPort, true, "packets the PFC watchdog dropped while the queue was paused",
		[]Source{{SONiCWatchdog, "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS", 1}, {SONiCWatchdog, "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS", 1}}},
	NICRxFECCorrected: {"nic_rx_fec_corrected_total", "blocks", Counter, NICPort, false, "FEC blocks that were corrected",
		[]Source{{EthtoolFEC, "corrected_blocks", 1}, {EthtoolBNXT, "rx_fec_corrected_blocks", 1}}},
	NICRxBits: {"nic_rx_bits_total", "bits", Counter, NICPort, false, "bits received at the physical layer, by which corrected bits are judged",
		[]Source{{EthtoolMLX5, "rx_bits_phy", 1}, {EthtoolBNXT, "rx_bits", 1}}},
	NICRxCorrectedBits: {"nic_rx_corrected_bits_total", "bits", Counter, NICPort, false, "bits that FEC corrected",
		[]Source{{EthtoolMLX5, "rx_corrected_bits_phy", 1}, {EthtoolBNXT, "rx_corrected_bits", 1}}},
	NICRxOversize: {"nic_rx_oversize_total", "frames", Counter, NICPort, false, "frames longer than this NIC accepts: the peer's MTU is larger",
		[]Source{{EthtoolMLX5, "rx_oversize_pkts_phy", 1}, {EthtoolMLX5, "rx_out_of_range_len_phy", 1}, {EthtoolBNXT, "rx_ovrsz_frames", 1}, {EthtoolICE, "rx_oversize.nic", 1}}},
	NICRxBufferHigh: {"nic_rx_buffer_high_total", "events", Counter, NICPort, false, "times the port buffer was filled past its threshold",
		[]Source{{EthtoolMLX5, "rx_buffer_passed_thres_phy", 1}, {EthtoolBNXT, "rx_buffer_passed_threshold", 1}}},
	NICLinkFaults: {"nic_link_faults_total", "events", Counter, NICPort, false, "local or remote faults of the link",
		[]Source{{EthtoolICE, "mac_local_faults.nic", 1}, {EthtoolICE, "mac_remote_faults.nic", 1}}},
	NICModuleHighTemp: {"nic_module_high_temperature_total", "events", Counter, NICPort, false, "times the module was too hot",
		[]Source{{EthtoolMLX5, "module_high_temp", 1}}},
	NICModuleUnplugged: {"nic_module_unplugged_total", "events", Counter, NICPort, false, "times the module was pulled out",
		[]Source{{EthtoolMLX5, "module_unplug", 1}}},
	NICModuleBad: {"nic_module_bad_total", "events", Counter, NICPort, false, "times the module's cable was bad or shorted, or its bus was stuck",
		[]Source{{EthtoolMLX5, "module_bad_shorted", 1}, {EthtoolMLX5, "module_bus_stuck", 1}}},
	NICPCIStalledRead: {"nic_pci_stalled_read_events_total", "events", Counter, NICPort, false, "seconds in which the NIC waited for PCIe read credits more than 30 % of the time",
		[]Source{{EthtoolMLX5, "outbound_pci_stalled_rd_events", 1}}},
	NICPCIStalledWriteShare: {"nic_pci_stalled_write_share", "share", Gauge, NICPort, false, "share of the last second in which the NIC waited for PCIe write credits",
		[]Source{{EthtoolMLX5, "outbound_pci_stalled_wr", 0.01}}},
	NICPCIStalledReadShare: {"nic_pci_stalled_read_share", "share", Gauge, NICPort, false, "share of the last second in which the NIC waited for PCIe read credits",
		[]Source{{EthtoolMLX5, "outbound_pci_stalled_rd", 0.01}}},
	NICPCIBufferOverflow: {"nic_pci_buffer_overflow_total", "packets", Counter, NICPort, false, "packets dropped because PCIe could not take them",
		[]Source{{EthtoolMLX5, "outbound_pci_buffer_overflow", 1}}},
	NICPCISignal: {"nic_pci_signal_integrity_total", "events", Counter, NICPort, false, "recoveries of the PCIe link",
		[]Source{{EthtoolMLX5, "rx_pci_signal_integrity", 1}, {EthtoolMLX5, "tx_pci_signal_integrity", 1}}},
	NICRDMATxBytes: {"nic_rdma_tx_bytes_total", "bytes", Counter, NICPort, false, "bytes of RDMA sent, which the counters of the interface leave out",
		[]Source{{EthtoolMLX5, "tx_vport_rdma_unicast_bytes", 1}, {HWEFA, "tx_bytes", 1}}},
	NICRDMARxBytes: {"nic_rdma_rx_bytes_total", "bytes", Counter, NICPort, false, "bytes of RDMA received",
		[]Source{{EthtoolMLX5, "rx_vport_rdma_unicast_bytes", 1}, {HWEFA, "rx_bytes", 1}}},
	NICRDMARxDiscards: {"nic_rdma_rx_discards_total", "packets", Counter, NICPort, false, "RDMA packets dropped on arrival",
		[]Source{{HWBNXT, "rx_roce_discards", 1}, {HWIRDMA, "ip4InDiscards", 1}, {HWEFA, "rx_drops", 1}}},
	NICRDMARxErrors: {"nic_rdma_rx_errors_total", "packets", Counter, NICPort, false, "RDMA packets that arrived damaged, or for no queue pair",
		[]Source{{HWBNXT, "rx_roce_errors", 1}, {HWIRDMA, "rxVlanErrors", 1}, {HWCounters, "rx_icrc_encapsulated", 1}}},
	NICRetransmits: {"nic_retransmits_total", "packets", Counter, NICPort, false, "sender: packets sent again",
		[]Source{{HWEFA, "retrans_pkts", 1}, {HWIRDMA, "RetransSegs", 1}, {HWIRDMA, "tcpRetransSegs", 1}}},
	NICUnresponsivePeers: {"nic_unresponsive_peers_total", "events", Counter, NICPort, false, "sender: peers that stopped answering",
		[]Source{{HWEFA, "unresponsive_remote_events", 1}}},
	NICImpairedPeers: {"nic_impaired_peers_total", "events", Counter, NICPort, false, "sender: connections to peers that are slow to answer",
		[]Source{{HWEFA, "impaired_remote_conn_events", 1}}},
	NICImpliedNAK: {"nic_implied_nak_total", "NAKs", Counter, NICPort, false, "sender: acknowledgements that skipped a read or an atomic operation",
		[]Source{{HWCounters, "implied_nak_seq_err", 1}, {HWBNXT, "missing_resp", 1}}},
	NICAdaptiveRetrans: {"nic_adaptive_retransmits_total", "retransmissions", Counter, NICPort, false, "sender: retransmissions before the timeout of the queue pair",
		[]Source{{HWCounters, "roce_adp_retrans", 1}}},
	NICAdaptiveTimeouts: {"nic_adaptive_retransmit_timeouts_total", "timeouts", Counter, NICPort, false, "sender: timeouts of adaptive retransmission",
		[]Source{{HWCounters, "roce_adp_retrans_to", 1}}},
	NICSlowRestarts: {"nic_slow_restarts_total", "events", Counter, NICPort, false, "sender: slow starts after a pause",
		[]Source{{HWCounters, "roce_slow_restart", 1}}},
	NICCNPIgnored: {"nic_cnp_ignored_total", "packets", Counter, NICPort, false, "sender: congestion notifications that were not obeyed",
		[]Source{{HWCounters, "rp_cnp_ignored", 1}, {HWIRDMA, "cnpIgnored", 1}}},
	NICReqRemoteAccess: {"nic_requester_remote_access_errors_total", "errors", Counter, NICPort, false, "sender: NAKs for memory the peer does not grant",
		[]Source{{HWCounters, "req_remote_access_errors", 1}}},
	NICReqRemoteInvalid: {"nic_requester_remote_invalid_total", "errors", Counter, NICPort, false, "sender: NAKs for requests the peer calls invalid",
		[]Source{{HWCounters, "req_remote_invalid_request", 1}}},
	NICRespRemoteAccess: {"nic_responder_remote_access_errors_total", "errors", Counter, NICPort, false, "receiver: requests for memory that is not granted",
		[]Source{{HWCounters, "resp_remote_access_errors", 1}}},
	NICRespLength: {"nic_responder_length_errors_total", "errors", Counter, NICPort, false, "receiver: requests longer than what was posted for them",
		[]Source{{HWCounters, "resp_local_length_error", 1}}},
	NICReqCQEErrors: {"nic_requester_cqe_errors_total", "errors", Counter, NICPort, false, "sender: completions in error, flushes not counted",
		[]Source{{HWCounters, "req_cqe_error", 1}}},
	NICRespCQEErrors: {"nic_responder_cqe_errors_total", "errors", Counter, NICPort, false, "receiver: completions in error, flushes not counted",
		[]Source{{HWCounters, "resp_cqe_error", 1}}},
	SwitchTxPackets: {"switch_port_tx_packets_total", "packets", Counter, SwitchPort, false, "packets sent, all queues",
		[]Source{{SAI, "SAI_PORT_STAT_IF_OUT_UCAST_PKTS", 1}, {SFlow, "ifOutUcastPkts", 1}}},
	SwitchTxRate: {"switch_port_tx_bits_per_second", "bit/s", Gauge, SwitchPort, false, "rate at which the port sent when it was read, as the switch itself works it out over some seconds",
		[]Source{{SAI, "TX_BPS", 8}}},
	SwitchQueueDropped: {"switch_queue_dropped_total", "packets", Counter, SwitchPort, true, "packets dropped from the egress queue of the priority",
		[]Source{{SAI, "SAI_QUEUE_STAT_DROPPED_PACKETS", 1}}},
	SwitchFECUncorrectable: {"switch_port_fec_uncorrectable_total", "blocks", Counter, SwitchPort, false, "FEC blocks that could not be corrected",
		[]Source{{SAI, "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", 1}}},
	SwitchPortTxBytes: {"switch_port_tx_bytes_total", "bytes", Counter, SwitchPort, false, "bytes sent, all priorities",
		[]Source{{SAI, "SAI_PORT_STAT_IF_OUT_OCTETS", 1}, {SFlow, "ifOutOctets", 1}}},
	SwitchRules: {"switch_rules", "entries", Gauge, WholeSwitch, false, "entries of the rule table (ACL, TCAM)",
		[]Source{{SONiCCRM, "crm_stats_acl_entry_used", 1}}},
	SwitchRulesFree: {"switch_rules_free", "entries", Gauge, WholeSwitch, false, "entries that the rule table still has room for",
		[]Source{{SONiCCRM, "crm_stats_acl_entry_available", 1}}},
}

func (s SeriesID) String() string { return Catalogue[s].Name }
