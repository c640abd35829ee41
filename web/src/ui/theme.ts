export type Theme = "auto" | "light" | "dark";

const key = "interlock.theme";

export function storedTheme(): Theme {
  const t = localStorage.getItem(key);
  return t === "light" || t === "dark" ? t : "auto";
}

export function applyTheme(t: Theme): void {
  document.documentElement.dataset.theme = t;
  if (t === "auto") localStorage.removeItem(key);
  else localStorage.setItem(key, t);
}

export function nextTheme(t: Theme): Theme {
  return t === "auto" ? "light" : t === "light" ? "dark" : "auto";
}
