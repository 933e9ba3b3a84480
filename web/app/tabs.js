// Tabs as the ARIA practices have them: arrow keys move, one tab is in the order of the Tab key.

/** Calls `shown(id)` when a panel is shown. */
export function startTabs(shown) {
  const tabs = [...document.querySelectorAll('[role=tab]')];
  const select = (tab, focus) => {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute('aria-selected', String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute('aria-controls')).hidden = !chosen;
    }
    if (focus) tab.focus();
    shown(tab.id.replace('tab-', ''));
  };
  const KEYS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  tabs.forEach((tab, at) => {
    tab.addEventListener('click', () => select(tab));
    tab.addEventListener('keydown', (event) => {
      const step = KEYS[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const next = Number.isFinite(step) ? (at + step + tabs.length) % tabs.length : step < 0 ? 0 : tabs.length - 1;
      select(tabs[next], true);
    });
  });
  return (name) => select(document.getElementById(`tab-${name}`), true);
}
