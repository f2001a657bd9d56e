// Writes src/devices/makers.txt: which makers of a home's devices have which prefixes of MAC addresses. The list
// is that of Debian's package ieee-data, in which IEEE asserts no copyright:
//
//     apt-get download ieee-data && dpkg-deb -x ieee-data_*.deb . && bun scripts/makers.ts usr/share/ieee-data/oui.csv
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** As people call them, by how IEEE's list writes them. The first that fits counts. */
const MAKERS: readonly (readonly [name: string, organization: RegExp])[] = [
  ["Sony Interactive Entertainment", /^sony interactive/],
  ["Sony", /^sony/],
  ["LG", /^lg (electronics|innotek)/],
  ["HP", /^(hp inc|hewlett packard$)/],
  ["Motorola", /^motorola \(wuhan\)|^motorola mobility/],
  ["Lenovo", /^(lenovo|lcfc)/],
  ["Xiaomi", /^(xiaomi|beijing xiaomi)/],
  ["Oppo", /oppo mobile/],
  ["Realme", /^realme/],
  ["TP-Link", /^tp-link/],
  ["AVM", /^avm /],
  ["Linksys", /^(cisco-linksys|linksys)/],
  ["MikroTik", /^(routerboard|mikrotik)/],
  ["Hikvision", /hikvision/],
  ["Dahua", /dahua tech/],
  ["Philips", /^(signify|philips lighting|philips (oral|personal|consumer)|versuni)/],
  ["TP Vision", /^tp vision/],
  ["Tuya", /^tuya/],
  ["Shelly", /^(allterco|shelly)/],
  ["Ring", /^ring llc/],
  ["Wyze", /^wyze/],
  ["Arlo", /^arlo/],
  ["Nest", /^nest labs/],
  ["Raspberry Pi", /^raspberry pi/],
  ["Skyworth", /skyworth/],
  ["TCL", /^(tcl|tct mobile)/],
  ["Nokia", /^(hmd global|microsoft mobile)/],
  ["Epson", /^seiko epson/],
  ["ASUS", /^asustek/],
  ["MSI", /^micro-star/],
  ["Gigabyte", /^giga-byte/],
  ["Acer", /^acer/],
  ["Huawei", /^huawei/],
  ["Honor", /^honor device/],
  ["Samsung", /^samsung electro/],
  ["Intel", /^intel corp/],
  ["Foxconn", /^hon hai/],
  ["Bang & Olufsen", /^bang & olufsen/],
  ["Harman", /^harman/],
  ["Denon", /^(denon|d&m holdings|sound united)/],
  ["Hisense", /hisense/],
  ["BSH", /^bsh hausger/],
  ["Miele", /^miele/],
  ["iRobot", /^irobot/],
  ["Ecovacs", /^ecovacs/],
  ["Roborock", /roborock/],
  ["Dreame", /^dreame/],
  ["Midea", /midea/],
  ["Haier", /haier/],
  ["Synology", /^synology/],
  ["QNAP", /^qnap/],
  ["Western Digital", /^western digital/],
  ["Ubiquiti", /^ubiquiti/],
  ["Valve", /^valve corp/],
  ["OnePlus", /^oneplus/],
  ["HTC", /^htc corp/],
  ["vivo", /^vivo mobile/],
  ["Tecno", /^tecno mobile/],
  ["Infinix", /^infinix/],
  ["Reolink", /reolink/],
  ["Axis", /^axis comm/],
  ["Ezviz", /ezviz/],
  ["D-Link", /^d-link/],
  ["Vizio", /^vizio/],
  ["Roku", /^roku/],
  ["Toniebox", /^boxine/],
  ["Somfy", /^somfy/],
  ["eQ-3", /^eq-3/],
  ["Tado", /^tado/],
  ["Netatmo", /^netatmo/],
  ["Withings", /^withings/],
  ["Fitbit", /^fitbit/],
  ["Garmin", /^garmin/],
  ["Tesla", /^tesla/],
  ["SolarEdge", /^solaredge/],
  ["Fronius", /^fronius/],
  ["SMA", /^sma solar/],
  ["Enphase", /^enphase/],
  ["Kyocera", /^kyocera (display|document|corp)/],
  ["Logitech", /^logitech/],
  ["Ecobee", /^ecobee/],
  ["Lutron", /^lutron/],
  ["Meross", /meross/],
  ["Govee", /govee/],
  ["LIFX", /^lifi labs|^lifx/],
  ["Nanoleaf", /nanoleaf/],
  ["Yealink", /yealink/],
  ["Gigaset", /^gigaset/],
  ["Devolo", /^devolo/],
  ["Freebox", /^freebox/],
  ["Humax", /^humax/],
  ["Sky", /^sky uk/],
  ["TiVo", /^tivo/],
  ["Bosch", /^(robert bosch|bosch (security|thermo))/],
  ["Siemens", /^siemens ag/],
  ["Onkyo", /^onkyo/],
  ["Pioneer", /^pioneer (corp|and onkyo)/],
  ["Yamaha", /^yamaha corp/],
  ["Panasonic", /^panasonic/],
  ["Sharp", /^sharp corp/],
  ["Toshiba", /^toshiba/],
  ["Fujitsu", /^fujitsu (limited|technology sol)/],
  ["Razer", /^razer/],
  ["GoPro", /^gopro/],
  ["Peloton", /^peloton/],
  ["Espressif", /^espressif/],
  ...[
    ...["Apple", "Google", "Amazon", "Microsoft", "Nintendo", "Sonos", "Bose", "Canon", "Brother", "Lexmark"],
    ...[
      "Xerox",
      "Ricoh",
      "Dell",
      "Netgear",
      "Zyxel",
      "Eero",
      "Belkin",
      "Buffalo",
      "Tenda",
      "Fairphone",
      "EcoFlow",
    ],
  ].map((name) => [name, new RegExp(`^${name.toLowerCase()}\\b`)] as const),
];

const NUMBER = 36;
const [list = "/usr/share/ieee-data/oui.csv"] = process.argv.slice(2);
const prefixes = new Map<string, number[]>();
for (const line of readFileSync(list, "utf8").split("\n")) {
  const [, prefix, quoted, plain] = /^MA-L,([0-9A-F]{6}),(?:"((?:[^"]|"")*)"|([^,]*)),/.exec(line) ?? [];
  const organization = (quoted ?? plain ?? "").trim().toLowerCase();
  const name = MAKERS.find(([, known]) => known.test(organization))?.[0];
  if (prefix !== undefined && name !== undefined)
    prefixes.set(name, [...(prefixes.get(name) ?? []), Number.parseInt(prefix, 16)]);
}
const lines = [...prefixes].sort().map(([name, all]) => `${name}\t${stepsOf(all)}\n`);
writeFileSync(join(import.meta.dir, "../src/devices/makers.txt"), lines.join(""));

/** Each number as what is added to the one before it, which is short. */
function stepsOf(all: readonly number[]): string {
  const sorted = [...new Set(all)].sort((one, other) => one - other);
  return sorted.map((each, at) => (each - (sorted[at - 1] ?? 0)).toString(NUMBER)).join(" ");
}
