#include "port.h"

#include "eal.h"
#include "nd.h"
#include "iface.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

static int find_port(struct port *p, const struct hostcfg *cfg, struct err *e)
{
	const char *device = cfg->port.vdev[0] != '\0' ? cfg->port.vdev : cfg->port.pci;
	char name[DEVICE_MAX_BYTES];
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(device, ","), device);
	if (rte_eth_dev_get_port_by_name(name, &p->id) == 0)
		return 0;
	return err_set(e, ENODEV, "no port named '%s' among the %u that DPDK found", name,
		       rte_eth_dev_count_avail());
}

static int check_queues(const struct port *p, const struct hostcfg *cfg, struct err *e)
{
	uint16_t have = p->info.max_rx_queues < p->info.max_tx_queues ? p->info.max_rx_queues
								      : p->info.max_tx_queues;
	if (cfg->port.queues <= have)
		return 0;
	return err_set(e, EINVAL, "queues: %u asked, but %s has %u: set queues: %u",
		       cfg->port.queues, p->driver, have, have);
}

// What comes in on a queue that is not taken goes to the kernel, and no counter says so.
static int check_all_queues(const struct hostcfg *cfg, struct err *e)
{
	const char *name = cfg->port.all_queues_of;
	unsigned int have = name[0] != '\0' ? iface_rx_queues(name) : 0;
	if (have == 0 || have == cfg->port.queues)
		return 0;
	return err_set(
		e, EINVAL,
		"queues: %u asked, but %s has %u receive queues, and what comes in on others "
		"is lost: make them as many, by ethtool -L %s or by queues",
		cfg->port.queues, name, have, name);
}

// Some PMDs (af_packet, memif) name the standard frame whatever their rings hold. What those hold
// was made from the MTU by the profile, so there is nothing to ask of ethdev.
static bool mtu_is_ethdevs(const struct port *p, const struct hostcfg *cfg)
{
	uint32_t frame = cfg->port.mtu + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
	return frame <= p->info.max_rx_pktlen;
}

static int configure(struct port *p, const struct hostcfg *cfg, struct err *e)
{
	struct rte_eth_conf conf = {
		.rxmode = { .mtu = mtu_is_ethdevs(p, cfg) ? cfg->port.mtu : 0 },
	};
	rss_conf(cfg, &p->info, p->rss_key, &conf);
	p->csum_hw = cfg->port.csum == CSUM_HW &&
		     (p->info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) != 0;
	if (p->csum_hw) {
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_UDP_CKSUM & p->info.rx_offload_capa;
	}
	p->multi_segs = hostcfg_fragments(cfg) &&
			(p->info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
	if (p->multi_segs)
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	int r = rte_eth_dev_configure(p->id, cfg->port.queues, cfg->port.queues, &conf);
	if (r != 0)
		return err_set(e, -r, "%s refuses %u queues with MTU %u: %s", p->driver,
			       cfg->port.queues, cfg->port.mtu, rte_strerror(-r));
	p->rxd = cfg->port.rxd;
	p->txd = cfg->port.txd;
	r = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &p->rxd, &p->txd);
	if (r != 0)
		return err_set(e, -r, "%s refuses rings of %u and %u descriptors: %s", p->driver,
			       cfg->port.rxd, cfg->port.txd, rte_strerror(-r));
	return 0;
}

static int set_mtu(const struct port *p, const struct hostcfg *cfg, struct err *e)
{
	uint16_t now = 0;
	rte_eth_dev_get_mtu(p->id, &now);
	if (cfg->port.mtu == now || !mtu_is_ethdevs(p, cfg))
		return 0;
	int r = rte_eth_dev_set_mtu(p->id, cfg->port.mtu);
	if (r == 0 || r == -ENOTSUP)
		return 0;
	return err_set(e, -r, "%s refuses MTU %u (it has %u): %s", p->driver, cfg->port.mtu, now,
		       rte_strerror(-r));
}

// What was asked for may have been refused in silence, or be the kernel's affair.
static int verify_mtu(struct port *p, const struct hostcfg *cfg, struct err *e)
{
	char name[IF_NAMESIZE];
	uint16_t now = 0;
	unsigned int kernels = iface_mtu(p->info.if_index, name);
	if (kernels != 0 && kernels < cfg->port.mtu)
		return err_set(e, EINVAL,
			       "interface %s has an MTU of %u, and mtu %u is asked for: ip link "
			       "set dev %s mtu %u, or mtu: %u",
			       name, kernels, cfg->port.mtu, name, cfg->port.mtu, kernels);
	if (mtu_is_ethdevs(p, cfg) && rte_eth_dev_get_mtu(p->id, &now) == 0 && now < cfg->port.mtu)
		return err_set(e, EINVAL, "%s has an MTU of %u and does not take %u: set mtu: %u",
			       p->driver, now, cfg->port.mtu, now);
	p->mtu = cfg->port.mtu;
	return 0;
}

// Solicitations for an IPv6 address come to a group. A PMD that cannot filter takes all frames.
static void hear_groups(const struct port *p, const struct hostcfg *cfg)
{
	struct ip_addr group = nd_group(&cfg->addr);
	struct rte_ether_addr mac = nd_group_mac(&group);
	if (!ip_is4(&cfg->addr) &&
	    (cfg->src_count > 0 || rte_eth_dev_set_mc_addr_list(p->id, &mac, 1) != 0))
		rte_eth_allmulticast_enable(p->id);
}

int port_open(struct port *p, const struct hostcfg *cfg, struct err *e)
{
	int r = find_port(p, cfg, e);
	if (r != 0)
		return r;
	r = rte_eth_dev_info_get(p->id, &p->info);
	if (r != 0)
		return err_set(e, -r, "no device info: %s", rte_strerror(-r));
	snprintf(p->driver, sizeof(p->driver), "%s", p->info.driver_name);
	p->socket = rte_eth_dev_socket_id(p->id);
	p->counts_missed = cfg->port.counts_missed;
	if ((r = check_queues(p, cfg, e)) != 0 || (r = check_all_queues(cfg, e)) != 0 ||
	    (r = configure(p, cfg, e)) != 0 || (r = set_mtu(p, cfg, e)) != 0 ||
	    (r = verify_mtu(p, cfg, e)) != 0)
		return r;
	r = rte_eth_macaddr_get(p->id, &p->mac);
	if (r != 0)
		return err_set(e, -r, "no MAC address: %s", rte_strerror(-r));
	hear_groups(p, cfg);
	return 0;
}

// 802.3x frames by the names that PMDs give them; counted since the port was made.
static void read_pause(uint16_t port, uint64_t *rx, uint64_t *tx)
{
	static const struct {
		const char *rx, *tx;
	} names[] = {
		{ "rx_xoff_packets", "tx_xoff_packets" },	  // ixgbe, i40e, ice, igc, e1000
		{ "rx_pause_ctrl_phy", "tx_pause_ctrl_phy" },	  // mlx5
		{ "rx_pause_frames", "tx_pause_frames" },	  // bnxt
		{ "mac_rx_pause_frames", "mac_tx_pause_frames" }, // qede, hns3
		{ "rx_flow_control_xoff_packets", "tx_flow_control_xoff_packets" },
	};
	uint64_t id;
	*rx = *tx = COUNTER_UNKNOWN;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (rte_eth_xstats_get_id_by_name(port, names[i].rx, &id) == 0)
			rte_eth_xstats_get_by_id(port, &id, rx, 1);
		if (rte_eth_xstats_get_id_by_name(port, names[i].tx, &id) == 0)
			rte_eth_xstats_get_by_id(port, &id, tx, 1);
	}
}

int port_start(struct port *p, const struct hostcfg *cfg, struct queue *const *queue, struct err *e)
{
	for (uint16_t q = 0; q < cfg->port.queues; q++) {
		int r = rte_eth_rx_queue_setup(p->id, q, p->rxd, (unsigned int)p->socket, NULL,
					       queue[q]->rx_pool);
		if (r != 0)
			return err_set(e, -r, "%s: receive queue %u with %u descriptors: %s",
				       p->driver, q, p->rxd, rte_strerror(-r));
		r = rte_eth_tx_queue_setup(p->id, q, p->txd, (unsigned int)p->socket, NULL);
		if (r != 0)
			return err_set(e, -r, "%s: transmit queue %u with %u descriptors: %s",
				       p->driver, q, p->txd, rte_strerror(-r));
	}
	int r = rte_eth_dev_start(p->id);
	if (r != 0 && !cfg->port.restart_until_link)
		return err_set(e, -r, "%s does not start: %s", p->driver, rte_strerror(-r));
	rss_claim(p->id, cfg, &p->claim);
	rte_eth_stats_get(p->id, &p->base);
	read_pause(p->id, &p->pause_rx, &p->pause_tx);
	return 0;
}

bool port_link_up(const struct port *p)
{
	struct rte_eth_link link = { 0 };
	return rte_eth_link_get_nowait(p->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

int port_restart(struct port *p, struct err *e)
{
	rte_eth_dev_stop(p->id);
	int r = rte_eth_dev_start(p->id);
	return r == 0 ? 0 : err_set(e, -r, "%s does not start: %s", p->driver, rte_strerror(-r));
}

static uint64_t since(uint64_t now, uint64_t base)
{
	return now == COUNTER_UNKNOWN || base == COUNTER_UNKNOWN ? COUNTER_UNKNOWN : now - base;
}

void port_read(const struct port *p, struct port_counts *c)
{
	struct rte_eth_stats s;
	struct rte_eth_link link = { 0 };
	*c = (struct port_counts){ .link_mbps = COUNTER_UNKNOWN, .mtu = p->mtu };
	read_pause(p->id, &c->pause_rx, &c->pause_tx);
	c->pause_rx = since(c->pause_rx, p->pause_rx);
	c->pause_tx = since(c->pause_tx, p->pause_tx);
	if (rte_eth_link_get_nowait(p->id, &link) == 0 &&
	    link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN && link.link_speed != 0)
		c->link_mbps = link.link_speed;
	if (rte_eth_stats_get(p->id, &s) != 0) {
		c->ipackets = c->opackets = c->ibytes = c->obytes = COUNTER_UNKNOWN;
		c->imissed = c->ierrors = c->oerrors = c->rx_nombuf = COUNTER_UNKNOWN;
		return;
	}
	c->ipackets = s.ipackets - p->base.ipackets;
	c->opackets = s.opackets - p->base.opackets;
	c->ibytes = s.ibytes - p->base.ibytes;
	c->obytes = s.obytes - p->base.obytes;
	c->imissed = p->counts_missed ? s.imissed - p->base.imissed : COUNTER_UNKNOWN;
	c->ierrors = s.ierrors - p->base.ierrors;
	c->oerrors = s.oerrors - p->base.oerrors;
	c->rx_nombuf = s.rx_nombuf - p->base.rx_nombuf;
}

void port_close(struct port *p)
{
	rte_eth_dev_stop(p->id);
	rte_eth_dev_close(p->id);
}
