import sys
from pathlib import Path

# Made-up runs are shared between test modules.
sys.path.insert(0, str(Path(__file__).parent))
