/** What the interface accepts: the service checks it, and forms ask for nothing else. */

/** The length of the name of a server, a device, a schedule or a token. */
export const MAX_NAME_CHARACTERS = 64;
/** A tunnel's whole name, as a regular expression. */
export const TUNNEL_NAME = "[a-z0-9\\-]{1,32}";
/** Between two moves of a tunnel by a schedule: a month. */
export const MAX_EVERY_HOURS = 720;
/** What a schedule gives once, such as a pause: a week. */
export const MAX_ONCE_MINUTES = 10_080;
/** In one answer of `/api/events`: some 150 KB. */
export const MAX_EVENTS = 500;
/** How long the results of the checks are kept: anyone on the LAN can ask, and each run starts some twenty programs. */
export const CHECKS_KEPT_MS = 5_000;

/** The targets of a tunnel, in order. With all of them silent, a connect fails after 4 minutes. */
export const MAX_TARGETS = 8;
/** Until a better target of a tunnel is tried again: a day. */
export const MAX_BACK_MINUTES = 1_440;
/** The same if nothing else is asked for. */
export const BACK_MINUTES = 10;

/** How often a tunnel is measured, and from when on it counts as slow or lossy. */
export const QUALITY_BOUNDS = {
  everySeconds: { minimum: 2, maximum: 300 },
  slowMs: { minimum: 5, maximum: 2_500 },
  lossyPercent: { minimum: 1, maximum: 100 },
} as const;

/** What the line to the internet carries, in Mbit/s. */
export const LINE_BOUNDS = { minimum: 1, maximum: 10_000 } as const;

/** Lists of names that are blocked. */
export const MAX_LISTS = 8;
/** Names that stay open whatever a list says. */
export const MAX_EXCEPTIONS = 500;
/** How long queries are logged. */
export const QUERY_LOG_MINUTES = 10;
/** Longest pause of the lists. */
export const MAX_PAUSE_MINUTES = 60;

/**
 * A backup that the interface takes: some 1,500 servers with their keys. Parsing holds up everything else, so larger ones
 * are for the command line.
 */
export const MAX_BACKUP_BYTES = 1_048_576;
/** A shorter passphrase of a backup can be guessed, however slow each guess is. */
export const LEAST_PASSPHRASE_CHARACTERS = 8;

/** Of a speed test: how long it may take, and how much it may bring. */
export const SPEED_BOUNDS = {
  seconds: { minimum: 1, maximum: 30, usual: 10 },
  megabytes: { minimum: 1, maximum: 1_000, usual: 100 },
} as const;
/** The results of speed tests that are kept. */
export const MAX_SPEED_RESULTS = 20;
/** The length of an address of https. */
export const MAX_URL_CHARACTERS = 2_000;

/**
 * Of AmneziaWG's own documents, in packets and bytes. An IPv6 packet of 1280 bytes, the least that a link carries (RFC 8200),
 * fits Ethernet with `dataPadding`, whatever the endpoint is. Of a packet that fits Ethernet, each byte may be two digits of
 * `text`.
 */
export const AMNEZIA_MAX = {
  junk: 128,
  junkBytes: 1280,
  padding: 1279,
  dataPadding: 1500 - 1280 - 80,
  text: 4096,
};
