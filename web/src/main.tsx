import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { applyTheme, storedTheme } from "./ui/theme";
import "./style/base.css";
import "./style/shell.css";
import "./style/timeline.css";
import "./style/detail.css";

applyTheme(storedTheme());
createRoot(document.getElementById("root")!).render(<StrictMode><App /></StrictMode>);
