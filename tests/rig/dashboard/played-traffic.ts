/**
 * What a home receives and sends in a second, in bytes: a film, a download and an upload, again every ten minutes. The same
 * noise in each run. Pages take it as a text, so it uses nothing of this file.
 */
export function playedRate(second: number): { rx: number; tx: number } {
  const at = second % 600;
  const noise = Math.abs(Math.sin(at * 12.9898) * 43_758.5453) % 1;
  const film = at % 12 < 4 ? 1_400_000 : 90_000;
  const download = 2_400_000 * Math.exp(-(((at - 380) / 45) ** 4));
  const upload = 900_000 * Math.exp(-(((at - 190) / 30) ** 4));
  return {
    rx: (0.6 + 0.4 * noise) * (film + download),
    tx: (0.4 + 0.6 * noise) * 60_000 + (0.8 + 0.2 * noise) * upload,
  };
}
