import { UNPACKED } from "../tools/client-programs.ts";
import { type Gateway, scripted } from "./gateway.ts";
import { PORTCULLIS } from "./portcullis.ts";

/** What goes out by the tunnel has the tunnel's address. */
const MASQUERADE = `
nft -f - <<END
table inet home {
  chain outgoing { type nat hook postrouting priority srcnat; oifname $TUNNEL masquerade; }
}
END`;

const WG_QUICK_UP = "wg-quick up $CONFIG";
const WG_QUICK_DOWN = "wg-quick down $CONFIG";

/** The positive control: a tunnel with routes into it, and nothing that closes. */
export const OPEN = scripted({
  name: "no kill switch",
  boot: MASQUERADE.replace("oifname $TUNNEL", "oifname != $LAN"),
  connect: `
    ip link add $TUNNEL type wireguard 2>/dev/null || wireguard-go $TUNNEL
    wg-quick strip $CONFIG | wg setconf $TUNNEL /dev/stdin
    for address in $(sed -n 's/,//g; s/^Address = //p' $CONFIG); do ip address add $address dev $TUNNEL; done
    ip link set $TUNNEL mtu 1420 up
    ip route replace $SERVER via $ROUTER4 dev $UPLINK
    for half in 0.0.0.0/1 128.0.0.0/1; do ip route add $half dev $TUNNEL; done
    ! grep -q ::/0 $CONFIG || for half in ::/1 8000::/1; do ip route add $half dev $TUNNEL; done`,
  disconnect: "ip link del $TUNNEL",
});

/** The rule of the manual, which is for what the machine itself sends. */
const MANUAL =
  "OUTPUT ! -o %i -m mark ! --mark $(wg show %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT";

export const WG_QUICK = scripted({
  name: "wg-quick",
  hooks: [
    `PostUp = iptables -I ${MANUAL} && ip6tables -I ${MANUAL}`,
    `PreDown = iptables -D ${MANUAL} && ip6tables -D ${MANUAL}`,
  ],
  boot: MASQUERADE,
  connect: WG_QUICK_UP,
  disconnect: WG_QUICK_DOWN,
});

/** A file /etc/nftables.conf that drops what it does not name; Debian loads it before the network. */
const NFTABLES = scripted({
  name: "nftables",
  boot: `${MASQUERADE}
nft -f - <<END
table inet filter {
  chain input {
    type filter hook input priority filter; policy drop;
    ct state established,related accept
    iifname { lo, $LAN } accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert } accept
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    iifname $LAN oifname $TUNNEL accept
    iifname $TUNNEL oifname $LAN ct state established,related accept
  }
  chain output {
    type filter hook output priority filter; policy drop;
    oifname { lo, $LAN, $TUNNEL } accept
    ip daddr { $SERVERS } udp dport $PORT accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept
  }
}
END`,
  connect: WG_QUICK_UP,
  disconnect: WG_QUICK_DOWN,
});

const UFW = scripted({
  name: "ufw",
  prepare: [
    "cp -a /etc/ufw /etc/default $ETC/ && touch $ETC/ufw/of-this-gateway",
    // Never the machine's own files.
    `test -e /etc/ufw/of-this-gateway
     printf '*nat\\n-F\\n-A POSTROUTING -o %s -j MASQUERADE\\nCOMMIT\\n' $TUNNEL | tee -a /etc/ufw/before.rules >>/etc/ufw/before6.rules
     for way in incoming outgoing routed; do ufw default deny $way; done
     ufw allow in on $LAN
     for link in $LAN $TUNNEL; do ufw allow out on $link; done
     for server in $(echo $SERVERS | tr , ' '); do ufw allow out on $UPLINK to $server port $PORT proto udp; done
     ufw route allow in on $LAN out on $TUNNEL
     ufw --force enable
     nft flush ruleset`,
  ],
  boot: "/lib/ufw/ufw-init start",
  connect: WG_QUICK_UP,
  disconnect: WG_QUICK_DOWN,
});

const FERM = scripted({
  name: "ferm",
  boot: `${UNPACKED}/usr/sbin/ferm - <<END
domain (ip ip6) {
  table nat chain POSTROUTING outerface $TUNNEL MASQUERADE;
  table filter {
    chain INPUT { policy DROP; mod state state (ESTABLISHED RELATED) ACCEPT; interface (lo $LAN) ACCEPT; }
    chain FORWARD { policy DROP; interface $LAN outerface $TUNNEL ACCEPT; }
    chain FORWARD interface $TUNNEL outerface $LAN mod state state (ESTABLISHED RELATED) ACCEPT;
    chain OUTPUT { policy DROP; outerface (lo $LAN $TUNNEL) ACCEPT; }
  }
}
domain ip table filter chain OUTPUT proto udp daddr ($(echo $SERVERS | tr , ' ')) dport $PORT ACCEPT;
domain ip6 table filter chain (INPUT OUTPUT) proto icmpv6 icmp-type (neighbour-solicitation neighbour-advertisement) ACCEPT;
END`,
  connect: WG_QUICK_UP,
  disconnect: WG_QUICK_DOWN,
});

/** In the order of the table's columns; the control is first. */
export const GATEWAYS: readonly Gateway[] = [OPEN, WG_QUICK, NFTABLES, UFW, FERM, PORTCULLIS];
