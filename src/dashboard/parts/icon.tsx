/** The strokes of each icon, in a square of 24 by 24; a view that needs another one adds it here. */
const PATHS = {
  gate: "M4 21V10a8 8 0 0 1 16 0v11M8 4v17M12 2v19M16 4v17M4 11h16M4 16h16",
  home: "M4 11l8-7 8 7M6 10v10h12V10M10 20v-6h4v6",
  shield: "M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM8.5 12l2.5 2.5 4.5-5",
  blocked: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M6 6l12 12",
  warning: "M12 4l9 16H3zM12 10v4M12 17v.5",
  news: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v6M12 7.5v.5",
  wait: "M12 3a9 9 0 1 1-9 9",
  unknown: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .9-1 1.7M12 16.5v.5",
  good: "M5 12.5l4.5 4.5L19 7",
  bad: "M6 6l12 12M18 6L6 18",
  close: "M6 6l12 12M18 6L6 18",
  server: "M4 5h16v6H4zM4 13h16v6H4zM7.5 8h.1M7.5 16h.1",
  lock: "M5 11h14v10H5zM8 11V7.5a4 4 0 0 1 8 0V11M12 15v2.5",
  key: "M8 8.5a4.5 4.5 0 1 0 0 7 4.5 4.5 0 0 0 0-7M11.5 12H21M17 12v4M20.5 12v3",
  settings:
    "M4 7h8M18 7h2M4 17h2M12 17h8M15 4.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M9 14.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5",
  device: "M4 5h16v11H4zM2 19h20",
  phone: "M7 2h10v20H7zM11 18.5h2",
  tv: "M3 5h18v12H3zM8 21h8",
  camera: "M4 8h3l2-3h6l2 3h3v11H4zM12 10a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7",
  console: "M7 8h10a5 5 0 0 1 0 10c-2 0-3-2-5-2s-3 2-5 2a5 5 0 0 1 0-10M8 11v4M6 13h4M16 12h.1M18 14h.1",
  printer: "M7 9V3h10v6M7 17H4V9h16v8h-3M7 14h10v7H7z",
  speaker: "M6 3h12v18H6zM12 6.5h.1M12 11a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7",
  other: "M7 7h10v10H7zM12 3v4M12 17v4M3 12h4M17 12h4",
  tunnel: "M3 20V13a9 9 0 0 1 18 0v7M8 20v-7a4 4 0 0 1 8 0v7",
  destination:
    "M12 21c4.5-5 7-8.5 7-12a7 7 0 0 0-14 0c0 3.5 2.5 7 7 12M12 6.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5",
  calendar: "M4 6h16v14H4zM4 10h16M8 3v5M16 3v5",
  check: "M9 5h10M9 12h10M9 19h10M4 5l1 1 1.5-2M4 12l1 1 1.5-2M4 19l1 1 1.5-2",
  history: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7v5l3.5 2",
  log: "M5 3h14v18H5zM8.5 8h7M8.5 12h7M8.5 16h4",
  down: "M12 4v15M6 13l6 6 6-6",
  up: "M12 20V5M6 11l6-6 6 6",
  file: "M6 3h8l4 4v14H6zM14 3v4h4M12 18v-7M9 14l3-3 3 3",
  add: "M12 5v14M5 12h14",
  more: "M5 12h.1M12 12h.1M19 12h.1",
  chevron: "M9 6l6 6-6 6",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5L21 21",
  star: "M12 4l2.5 5.2 5.7.8-4.1 4 1 5.7-5.1-2.7-5.1 2.7 1-5.7-4.1-4 5.7-.8z",
} as const;

export type IconName = keyof typeof PATHS;

/** Hidden from screen readers: an icon never stands without a word. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
