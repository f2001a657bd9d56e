/**
 * The names that a service is reached by. A rule with them is filled in for a person to see and change: services change
 * their names, and what runs on the names of a large cloud is left out, because others run there, too.
 */
export interface Service {
  title: string;
  names: readonly string[];
}

export const SERVICES: readonly Service[] = [
  { title: "ARD, ZDF", names: ["ardmediathek.de", "ard.de", "daserste.de", "zdf.de"] },
  { title: "BBC iPlayer", names: ["bbc.co.uk", "bbc.com", "bbci.co.uk"] },
  { title: "Disney+", names: ["disneyplus.com", "disney-plus.net", "dssott.com", "bamgrid.com"] },
  { title: "Netflix", names: ["netflix.com", "nflxvideo.net", "nflximg.net", "nflxext.com", "nflxso.net"] },
  { title: "Prime Video", names: ["primevideo.com", "amazonvideo.com", "pv-cdn.net", "aiv-cdn.net"] },
  { title: "Spotify", names: ["spotify.com", "scdn.co", "spotifycdn.com"] },
  { title: "YouTube", names: ["youtube.com", "youtu.be", "googlevideo.com", "ytimg.com"] },
];

/** Files for a speed test that their host offers for that. */
export const SPEED_FILES = [
  { url: "https://fsn1-speed.hetzner.com/100MB.bin", where: "Hetzner, Germany" },
  { url: "https://hel1-speed.hetzner.com/100MB.bin", where: "Hetzner, Finland" },
  { url: "https://ash-speed.hetzner.com/100MB.bin", where: "Hetzner, USA" },
] as const;
