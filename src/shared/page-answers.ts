/** The answers that `GET /api/page` has, by their paths after `/api/`: what the first view begins with, each quickly read. */
export const PAGE_ANSWERS = [
  "access",
  "destinations",
  "devices",
  "devices/self",
  "events",
  "favourites",
  "killswitch",
  "network",
  "schedules",
  "servers/counts",
  "status",
  "tunnels",
] as const;
