// Errors as sentences for people, in one place of the page.
import { byId } from './dom.js';

/** Error whose message is already a sentence for people. */
export class PageError extends Error {}

const BY_NAME = {
  QuotaExceededError: 'This browser has no room left for the file; remove a kept model or free some space.',
  NotAllowedError: 'The browser did not allow this.',
  NotReadableError: 'The file can no longer be read; it may have been moved or changed. Choose it again.',
  NotFoundError: 'The file is gone; choose it again.',
};
const BY_CODE = {
  OutOfMemory: 'The memory of this page is not enough for this model or this length of conversation.',
  ContextFull: 'The conversation is longer than the model can read; begin a new one.',
  EngineLost: 'The engine stopped unexpectedly. Try again, which starts a new one.',
  DeviceLost: 'The graphics card was lost; the answer goes on with the processor.',
};

/** Returns a sentence for any error. */
export function sentence(error) {
  if (error instanceof PageError) return error.message;
  if (error?.code && BY_CODE[error.code]) return BY_CODE[error.code];
  if (error?.name && BY_NAME[error.name]) return BY_NAME[error.name];
  const text = String(error?.message ?? error).trim();
  const upper = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}

/** Shows an error or a text until it is closed or replaced. */
export function tell(error) {
  byId('notice-text').textContent = typeof error === 'string' ? error : sentence(error);
  byId('notice').hidden = false;
}

export function clearNotice() {
  byId('notice').hidden = true;
}

export function startNotices() {
  byId('notice-close').addEventListener('click', clearNotice);
  addEventListener('unhandledrejection', (event) => tell(event.reason));
  addEventListener('error', (event) => tell(event.error ?? event.message));
}
