import { COMMON } from "../base/common-refusals.ts";
import { refusals } from "../base/refusals.ts";

/** What the machine, its kernel and programs, or others on the network refuse. */
export const refused = refusals({
  name_unresolved: COMMON.name_unresolved,
  socket_denied: { code: "unable", text: "the kernel permits this program no {kind} socket" },
  socket_without_route: {
    code: "unable",
    text: "no {kind, select, any {socket can} other {{kind} socket can}} send to {address}{link, select, any {} other { by {link}}}",
  },
  socket_unbound: { code: "unable", text: "no {kind} socket can {work} {link}" },
  interface_unknown: { code: "unable", text: "there is no interface {link}" },
  server_call_failed: { code: "unable", text: "{server} {reason}" },
  server_call_late: { code: "timed_out", text: "{server} did not answer within {seconds} s" },
  request_failed: { code: "unable", text: "the request to {host} failed: {reason}" },
  download_failed: { code: "unable", text: "{host}: {reason}" },
  relay_failed: { code: "unable", text: "{reason}" },
  relay_ended: { code: "unable", text: "the relay to the server has ended" },
  relay_unavailable: {
    code: "unable",
    text: "the kernel gives no eventfd for the relay to the server",
  },
  program_late: { code: "timed_out", text: "{program} did not finish within {seconds} s" },
  program_failed: { code: "unable", text: "{program} failed{reason}" },
  program_unstarted: { code: "unable", text: "{program} cannot be started: {reason}" },
  program_output_full: {
    code: "unable",
    text: "the kernel gives no memory for what programs print",
  },
  kernel_module_missing: {
    code: "unable",
    text: "{reason} (the kernel lacks a module for this or cannot load it; if the kernel was upgraded, restart the machine)",
  },
  kernel_setting_refused: { code: "kernel_refused", text: "cannot write {path}: {reason}" },
  kernel_sets_late: {
    code: "timed_out",
    text: "the kernel did not change its sets within {seconds} s",
  },
  kernel_sets_refused: {
    code: "kernel_refused",
    text: "the kernel does not change its sets: {reason}",
  },
  connections_kept: {
    code: "kernel_refused",
    text: "the kernel does not let this program end connections",
  },
  file_unreadable_here: { code: "unable", text: "{file} cannot be read: {reason}" },
  speed_test_ended_itself: { code: "unable", text: "the speed test has ended by itself" },
  speed_test_late: { code: "unable", text: "the speed test has not ended in time" },
  speed_test_failed: { code: "unable", text: "{reason}" },
});
