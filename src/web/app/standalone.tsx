import './style/main.css';
